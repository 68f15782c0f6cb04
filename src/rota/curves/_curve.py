"""A learning curve with its uncertainty: the mean over a small bank of shapes, weighted by how well each fits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rota.arrays import Floats
from rota.curves._bank import Bank, fit_bank
from rota.errors import RotaError

BLOCKS, SMALLEST = 40, 5  # at most so many blocks, of at least so many visits


@dataclass(frozen=True)
class Curve:
    """The expected score of a task after some visits.

    Args:
        visits: How many were seen.
        noise: Standard deviation of one score around the curve.
        bank: The shapes, fitted to this task alone.

    >>> curve = fit_curve(1 - np.exp(-np.arange(60) / 20))
    >>> curve(np.array([30, 60, 120])).round(2)
    array([0.76, 0.95, 1.  ])
    >>> [round(number, 2) for number in curve.gain_until(120)]
    [0.05, 0.0]
    """

    visits: float
    noise: float
    bank: Bank

    @property
    def gain(self) -> float:
        """By how much the score rose over the visits that were seen."""
        return float(self(self.visits) - self(0))

    @property
    def weights(self) -> Floats:
        """Of each shape of the bank."""
        return np.asarray(self.bank.weights[0])

    def __call__(self, visits: ArrayLike) -> Floats:
        """The expected score after so many visits, also beyond those that were seen."""
        asked = np.asarray(visits, dtype=np.float64)
        return np.asarray(self.bank.scores(asked.reshape(1, -1)).reshape(asked.shape))

    def spread(self, visits: ArrayLike) -> Floats:
        """How far the expected score may be off: a standard deviation."""
        asked = np.asarray(visits, dtype=np.float64)
        return np.asarray(self.bank.spreads(asked.reshape(1, -1)).reshape(asked.shape))

    def gain_until(self, visits: float) -> tuple[float, float]:
        """The expected gain from the visits that were seen to so many, and its standard deviation."""
        gain, spread = self.bank.gains(np.array([[self.visits]]), np.array([[visits]]))
        return float(gain[0, 0]), float(spread[0, 0])


def fit_points(visits: ArrayLike, scores: ArrayLike) -> Curve:
    """The learning curve behind scores that were measured now and then, each after so many visits.

    >>> curve = fit_points([0, 100, 200, 300, 400], [0.1, 0.5, 0.7, 0.7, 0.7])
    >>> curve([100, 400, 4000]).round(1)
    array([0.5, 0.7, 0.7])
    """
    x, y = np.asarray(visits, dtype=np.float64), _checked(scores)
    if x.shape != y.shape or (np.diff(x) < 0).any() or not x[-1] > 0:
        raise RotaError(f"A learning curve expects a score after each of some visits that go up. Found {x} and {y}.")
    noise, ones = _noise(y), np.ones_like(y)
    return Curve(float(x[-1]), noise, fit_bank(y[None], ones[None], np.array([noise]), x[-1:], x[None]))


def fit_curve(scores: ArrayLike) -> Curve:
    """The learning curve behind the scores of a task's visits, in their order; scores are at most 1.

    Visits are cut into blocks; the noise of a single score is found from second differences, of which a smooth curve
    has hardly any. Then the bank of shapes is fitted (`fit_bank`).

    >>> curve = fit_curve(np.minimum(np.arange(400) / 200, 1.0) * 0.8)
    >>> curve([50, 100, 400, 4000]).round(2)
    array([0.2, 0.4, 0.8, 0.8])
    """
    y = _checked(scores)
    n = len(y)
    count = max(1, min(BLOCKS, n // SMALLEST))
    edges = np.linspace(0, n, count + 1).astype(int)
    sizes = np.diff(edges).astype(np.float64)
    means = np.add.reduceat(y, edges[:-1]) / sizes
    noise = _noise(y)
    return Curve(n, noise, fit_bank(means[None], sizes[None], np.array([noise]), np.array([float(n)])))


def _checked(scores: ArrayLike) -> Floats:
    y = np.asarray(scores, dtype=np.float64)
    if y.ndim != 1 or len(y) < 2 or not np.isfinite(y).all():
        raise RotaError(f"A learning curve expects two scores or more that are numbers. Found {y.shape} of them.")
    return y


def _noise(y: Floats) -> float:
    """Of one score, from second differences."""
    second = y[2:] - 2 * y[1:-1] + y[:-2]
    return math.sqrt(float((second**2).mean()) / 6) if len(y) > 2 else 0.0
