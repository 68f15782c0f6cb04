"""How promising is a point, given what is believed about it?  Three answers, all of them to be maximised.

μ and σ are the mean and the deviation of the belief, `best` the largest value seen so far, all in one unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rota.arrays import Floats

_erfc: Callable[[Floats], Floats] = np.vectorize(math.erfc, otypes=[np.float64])


def _below(z: Floats) -> Floats:
    """Φ(z), the share of a standard normal distribution below z."""
    return 0.5 * _erfc(-z / math.sqrt(2.0))


def probability_of_improvement(mean: Floats, deviation: Floats, best: float, xi: float) -> Floats:
    """P(f > best + ξ).

    >>> probability_of_improvement(np.array([0.0, 1.0]), np.array([1.0, 1.0]), best=0.0, xi=0.0).round(3)
    array([0.5  , 0.841])
    """
    return _below((mean - best - xi) / deviation)


def expected_improvement(mean: Floats, deviation: Floats, best: float, xi: float) -> Floats:
    """E[max(f − best − ξ, 0)] = (μ − best − ξ)Φ(z) + σφ(z), with z = (μ − best − ξ)/σ.

    >>> expected_improvement(np.array([0.0, 5.0]), np.array([1.0, 0.001]), best=0.0, xi=0.0).round(3)
    array([0.399, 5.   ])
    """
    gap = mean - best - xi
    z = gap / deviation
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return np.maximum(gap * _below(z) + deviation * density, 0.0)


def upper_confidence_bound(mean: Floats, deviation: Floats, kappa: float) -> Floats:
    """μ + κσ.

    >>> upper_confidence_bound(np.array([0.0, 1.0]), np.array([1.0, 0.1]), kappa=2.0)
    array([2. , 1.2])
    """
    return mean + kappa * deviation


PORTFOLIO = ("PI", "EI", "UCB")


def portfolio(mean: Floats, deviation: Floats, best: float, kappa: float, xi: float) -> dict[str, Floats]:
    """The three together, by name."""
    return {
        "PI": probability_of_improvement(mean, deviation, best, xi),
        "EI": expected_improvement(mean, deviation, best, xi),
        "UCB": upper_confidence_bound(mean, deviation, kappa),
    }


def hedge_weights(gains: Floats, eta: float) -> Floats:
    """With which probability GP-Hedge listens to each acquisition: softmax(η · gains).

    >>> hedge_weights(np.array([0.0, 0.0, np.log(2.0)]), eta=1.0)
    array([0.25, 0.25, 0.5 ])
    """
    weights = np.exp(eta * (gains - gains.max()))
    share: Floats = weights / weights.sum()
    return share
