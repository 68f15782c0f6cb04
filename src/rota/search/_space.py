"""What may be proposed: ratios of whole numbers, mixtures on the simplex, or any box of numbers."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from rota.arrays import Floats

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

Bounds = tuple[int, int]
Seen = Literal["shares", "raw", "both"]
"""What a model sees of a ratio: the shares of the tasks, the numbers of batches themselves, or both."""

CELLS = 30_000  # up to so many points the acquisition is maximised over all of them
SAMPLED = 4_000  # otherwise over so many random ones and the neighbours of the best


class Space(ABC):
    """A set of points, one number per name.

    `canonical` maps points that need not be evaluated twice to the same row; `features` is what the Gaussian process
    sees of them.
    """

    names: tuple[str, ...]

    @abstractmethod
    def distributions(self) -> dict[str, BaseDistribution]:
        """The same set in Optuna's words."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """Random points, one per row."""

    @abstractmethod
    def candidates(self, rng: np.random.Generator, good: Floats) -> Floats:
        """The points to choose from: all, or a sample and the neighbours of `good` ones."""

    @abstractmethod
    def canonical(self, points: Floats) -> Floats: ...

    @abstractmethod
    def features(self, points: Floats) -> Floats: ...

    @abstractmethod
    def grid(self, size: int) -> Floats:
        """About `size` different points, evenly spread."""

    def as_params(self, point: Floats) -> dict[str, float]:
        return {name: float(x) for name, x in zip(self.names, point, strict=True)}


def spread(points: Floats, size: int) -> Floats:
    chosen = np.linspace(0, len(points) - 1, min(size, len(points))).round().astype(int)
    spread: Floats = points[chosen]
    return spread


class Mixtures(Space):
    """A space whose points say how much of each task a training gets."""

    seen: Seen = "shares"
    """What the Gaussian process sees of a point."""

    @abstractmethod
    def along(self, point: Floats, k: int) -> Floats:
        """This point with all numbers that its k-th place can have, the others as they are or in their proportion."""


class Ratios(Mixtures):
    """Whole numbers of batches per task, of which at least one is not zero.

    Args:
        bounds: Smallest and largest number of each task.
        seen: What the model sees of them. Where it sees the shares alone, equal proportions are one point.

    >>> points = np.array([[20.0, 0.0, 5.0], [4.0, 0.0, 1.0]])
    >>> ratios = {seen: Ratios({"rte": (1, 20), "wnli": (0, 5), "mnli": (0, 5)}, seen) for seen in ("shares", "raw")}
    >>> ratios["shares"].features(points).tolist()
    [[0.0, 0.2], [0.0, 0.2]]
    >>> ratios["raw"].features(points).round(2).tolist()
    [[1.0, 0.0, 1.0], [0.16, 0.0, 0.2]]
    """

    def __init__(self, bounds: Mapping[str, Bounds], seen: Seen = "shares") -> None:
        self.names = tuple(bounds)
        self.seen = seen
        self.low = np.array([low for low, _ in bounds.values()])
        self.high = np.array([high for _, high in bounds.values()])
        self._all: Floats | None = None

    def distributions(self) -> dict[str, BaseDistribution]:
        from optuna.distributions import IntDistribution

        limits = zip(self.names, self.low, self.high, strict=True)
        return {name: IntDistribution(int(low), int(high)) for name, low, high in limits}

    @property
    def size(self) -> int:
        return math.prod(int(n) for n in self.high - self.low + 1)

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        points = rng.integers(self.low, self.high + 1, size=(count, len(self.names))).astype(float)
        points[points.sum(axis=1) == 0] = self.high  # nothing at all is no ratio
        return points

    def candidates(self, rng: np.random.Generator, good: Floats) -> Floats:
        if self.size <= CELLS:
            if self._all is None:
                cells = itertools.product(
                    *(range(low, high + 1) for low, high in zip(self.low, self.high, strict=True))
                )
                everything = np.array(list(cells), dtype=float)
                self._all = self._smallest_first(everything)
            return self._all
        near = [point + step * unit for point in good for unit in np.eye(len(self.names)) for step in (-2, -1, 1, 2)]
        points = np.vstack([self.draw(rng, SAMPLED), np.clip(np.array(near), self.low, self.high)])
        return self._smallest_first(np.unique(points, axis=0))

    @staticmethod
    def _smallest_first(points: Floats) -> Floats:
        """Of equally promising points the first wins: the one with the shortest cycle."""
        points = points[points.sum(axis=1) > 0]
        ordered: Floats = points[np.argsort(points.sum(axis=1), kind="stable")]
        return ordered

    def canonical(self, points: Floats) -> Floats:
        """By their shares, 20:0:5 and 4:0:1 are one ratio."""
        return self._reduced(points) if self.seen == "shares" else points

    @staticmethod
    def _reduced(points: Floats) -> Floats:
        whole = points.astype(int)
        divisor = np.gcd.reduce(whole, axis=1)
        reduced: Floats = (whole // np.maximum(divisor, 1)[:, None]).astype(float)
        return reduced

    def features(self, points: Floats) -> Floats:
        """Shares of the auxiliaries, numbers of all tasks between their bounds, or both.

        A training hears of its ratio mostly through the shares, in which the same step from 1 to 2 or from 19 to 20
        batches is a large one or none at all. But of 20:5 and 4:1 the one has longer blocks."""
        shares: Floats = points[:, 1:] / points.sum(axis=1, keepdims=True)
        if self.seen == "shares":
            return shares
        numbers: Floats = (points - self.low) / np.maximum(self.high - self.low, 1)
        return numbers if self.seen == "raw" else np.hstack([shares, numbers])

    def along(self, point: Floats, k: int) -> Floats:
        numbers = np.arange(self.low[k], self.high[k] + 1, dtype=float)
        points = np.repeat(point[None], len(numbers), axis=0)
        points[:, k] = numbers
        found: Floats = points[points.sum(axis=1) > 0]
        return found

    def grid(self, size: int) -> Floats:
        for levels in itertools.count(2):
            axes = [
                np.unique(np.linspace(low, high, levels).round()) for low, high in zip(self.low, self.high, strict=True)
            ]
            points = self._smallest_first(np.array(list(itertools.product(*axes))))
            _, first = np.unique(self._reduced(points), axis=0, return_index=True)
            if len(first) >= size or levels > np.max(self.high - self.low):
                return spread(points[np.sort(first)], size)
        raise AssertionError


class Simplex(Mixtures):
    """Shares of the tasks, which sum to one, in steps of a thousandth."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    def distributions(self) -> dict[str, BaseDistribution]:
        from optuna.distributions import FloatDistribution

        return {name: FloatDistribution(0.0, 1.0) for name in self.names}

    @staticmethod
    def _rounded(shares: Floats) -> Floats:
        """The first task takes what rounding leaves over."""
        points = shares.round(3)
        points[:, 0] = (1.0 - points[:, 1:].sum(axis=1)).round(3)
        kept: Floats = points[points[:, 0] >= 0]
        return kept

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        points = rng.dirichlet(np.ones(len(self.names)), size=count)
        return self._rounded(np.minimum(points, 0.998))

    def candidates(self, rng: np.random.Generator, good: Floats) -> Floats:
        sharpness = np.repeat([20.0, 100.0, 500.0], 100)
        near = [rng.dirichlet(1e-3 + s * point) for point in good for s in sharpness]
        corners = np.eye(len(self.names))
        return np.vstack([self.draw(rng, SAMPLED), self._rounded(np.array([*near, *corners]))])

    def canonical(self, points: Floats) -> Floats:
        return points.round(3)

    def features(self, points: Floats) -> Floats:
        """The share of the first task follows from the others."""
        return points[:, 1:]

    def along(self, point: Floats, k: int) -> Floats:
        shares = np.linspace(0.0, 1.0, 21)
        others = np.delete(point, k)
        rest = others / others.sum() if others.sum() else np.full(len(others), 1 / len(others))
        points = (1.0 - shares)[:, None] * np.insert(rest, k, 0.0)
        points[:, k] = shares
        found: Floats = points
        return found

    def grid(self, size: int) -> Floats:
        for steps in itertools.count(1):
            points = np.array(list(_compositions(steps, len(self.names)))) / steps
            if len(points) >= size:
                return spread(self._rounded(points), size)
        raise AssertionError


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write `total` as an ordered sum of `parts` numbers from 0.

    >>> list(_compositions(2, 2))
    [(0, 2), (1, 1), (2, 0)]
    """
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        yield from ((first, *rest) for rest in _compositions(total - first, parts - 1))
