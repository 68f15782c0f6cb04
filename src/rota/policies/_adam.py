"""Adam for a vector of a few numbers that a policy owns."""

from __future__ import annotations

import numpy as np

from rota.arrays import Floats

DECAYS, LEAST = (0.9, 0.999), 1e-8


def adam(
    x: Floats, gradient: Floats, first: Floats, second: Floats, t: int, lr: float, weight_decay: float = 0.0
) -> tuple[Floats, Floats, Floats]:
    """A step of Adam (Kingma & Ba 2015), with the decay of the weights in the gradient.

    Args:
        x: What is moved.
        gradient: Downhill is against it.
        first, second: Moments after the last step.
        t: Number of this step, from 1.
        lr: Learning rate.
        weight_decay: Share of x that is added to its gradient.

    Returns:
        x and both moments after this step.

    >>> zero = np.zeros(2)
    >>> adam(zero, np.array([0.3, -2.0]), zero, zero, t=1, lr=0.1)[0].round(6)
    array([-0.1,  0.1])
    """
    slope = gradient + weight_decay * x
    first = DECAYS[0] * first + (1.0 - DECAYS[0]) * slope
    second = DECAYS[1] * second + (1.0 - DECAYS[1]) * slope**2
    scale = np.sqrt(second / (1.0 - DECAYS[1] ** t)) + LEAST
    return x - lr * (first / (1.0 - DECAYS[0] ** t)) / scale, first, second
