"""Logarithms of weights as probabilities."""

from __future__ import annotations

import numpy as np

from rota.arrays import Floats


def softmax(logits: Floats, tau: float = 1.0) -> Floats:
    """exp(x(k) / τ) / Σ_j exp(x(j) / τ), however large the numbers are.

    >>> softmax(np.array([1000.0, 1000.0]))
    array([0.5, 0.5])
    """
    with np.errstate(over="ignore"):  # as little as nothing
        weights: Floats = np.exp((logits - logits.max()) / tau)
    weights /= weights.sum()
    return weights
