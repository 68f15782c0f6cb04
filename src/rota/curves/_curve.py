"""A learning curve with its uncertainty: the mean over a small bank of shapes, weighted by how well each fits."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rota.errors import RotaError

Floats = NDArray[np.float64]

BLOCKS, SMALLEST = 40, 5  # at most so many blocks, of at least so many visits
FLOOR = 0.004  # what a block's mean may be off by, however many visits it has: curves are only nearly of these shapes


@dataclass(frozen=True)
class _Shape:
    """A curve from 0 to 1 over the visits that were seen (x = 1 is the last of them).

    Args:
        kind: flat, kink (a line up to p, then nothing), exponential (of time p), or line (from p on, without an end).
        p: Where it bends.
        prior: How much it is believed before anything is seen.
    """

    kind: str
    p: float
    prior: float

    def __call__(self, x: Floats) -> Floats:
        match self.kind:
            case "flat":
                return np.zeros_like(x)
            case "kink":
                return np.minimum(x, self.p) / self.p
            case "exponential":
                return -np.expm1(-x / self.p)
            case _:
                return np.maximum(x - self.p, 0.0) / (1.0 - self.p)


def _family(kind: str, places: Sequence[float], prior: float) -> list[_Shape]:
    return [_Shape(kind, p, prior / len(places)) for p in places]


@functools.cache
def _bank() -> tuple[_Shape, ...]:
    """All shapes. A flat curve has a parameter less, which Akaike's criterion credits with a factor e."""
    return (
        _Shape("flat", 0.0, 0.2 * math.e),
        *_family("kink", [k / 20 for k in range(1, 20)], 0.3),
        _Shape("line", 0.0, 0.15),
        *_family("exponential", (0.05, 0.1, 0.2, 0.35, 0.6, 1.0, 2.0), 0.25),
        *_family("line", (0.15, 0.3, 0.45, 0.6, 0.75, 0.85), 0.1),
    )


@dataclass(frozen=True)
class Curve:
    """The expected score of a task after some visits.

    Args:
        visits: How many were seen.
        noise: Standard deviation of one score around the curve.
        weights, starts, rises: Of each shape of the bank: its weight, its score at the beginning, and by how much it
            rises over the visits that were seen.
    """

    visits: int
    noise: float
    weights: Floats
    starts: Floats
    rises: Floats

    @property
    def gain(self) -> float:
        """By how much the score rose over the visits that were seen."""
        return float(self(self.visits) - self(0))

    def __call__(self, visits: ArrayLike) -> Floats:
        """The expected score after so many visits, also beyond those that were seen."""
        x = np.asarray(visits, dtype=np.float64) / self.visits
        total = np.zeros_like(x)
        for shape, weight, start, rise in zip(_bank(), self.weights, self.starts, self.rises, strict=True):
            value = start + rise * shape(x)
            total += weight * (_beyond(value, start + rise) if shape.kind == "line" else np.minimum(value, 1.0))
        return total


def _beyond(value: Floats, end: float) -> Floats:
    """A line goes on, but nobody knows how far: to a plateau anywhere between its end and 1, on average."""
    end = min(end, 1.0)
    room = max(1.0 - end, 1e-12)
    z = np.clip((value - end) / room, 0.0, 1.0)
    return np.where(value > end, end + room * (z - z**2 / 2), value)


def fit_curve(scores: ArrayLike) -> Curve:
    """The learning curve behind the scores of a task's visits, in their order; scores are at most 1.

    Visits are cut into blocks; the noise of a single score is found from second differences, of which a smooth curve
    has hardly any. Each shape of the bank (flat, a line that ends at a kink, an exponential, a line that begins late)
    is fitted by weighted least squares with a rise of at least 0, and weighs as much as it was believed before times
    its likelihood. All in closed form.

    >>> curve = fit_curve(np.minimum(np.arange(400) / 200, 1.0) * 0.8)
    >>> curve([50, 100, 400, 4000]).round(2)
    array([0.2, 0.4, 0.8, 0.8])
    """
    y = np.asarray(scores, dtype=np.float64)
    if y.ndim != 1 or len(y) < 2 or not np.isfinite(y).all():
        raise RotaError(f"A learning curve expects two scores or more that are numbers. Found {y.shape} of them.")
    n = len(y)
    count = max(1, min(BLOCKS, n // SMALLEST))
    edges = np.linspace(0, n, count + 1).astype(int)
    sizes = np.diff(edges)
    means = np.add.reduceat(y, edges[:-1]) / sizes
    centres = (edges[:-1] + edges[1:] + 1) / 2 / n
    second = y[2:] - 2 * y[1:-1] + y[:-2]
    noise = math.sqrt(float((second**2).mean()) / 6) if n > 2 else 0.0
    w = 1.0 / (noise**2 / sizes + FLOOR**2)
    share = w / w.sum()
    fits = [_fitted(shape(centres), means, w, share) for shape in _bank()]
    starts, rises, misfits = (np.array(column) for column in zip(*fits, strict=True))
    logs = np.log([shape.prior for shape in _bank()]) - misfits / 2
    weights = np.exp(logs - logs.max())
    return Curve(n, noise, weights / weights.sum(), starts, rises)


def _fitted(g: Floats, means: Floats, w: Floats, share: Floats) -> tuple[float, float, float]:
    """Start and rise of means ~ start + rise · g with rise ≥ 0, and the weighted sum of squares that is left."""
    mean_g, mean_y = float(share @ g), float(share @ means)
    spread = float(share @ (g - mean_g) ** 2)
    rise = max(float(share @ ((g - mean_g) * (means - mean_y))) / spread, 0.0) if spread > 1e-12 else 0.0
    start = mean_y - rise * mean_g
    return start, rise, float(w @ (means - start - rise * g) ** 2)
