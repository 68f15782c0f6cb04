"""Any study's whole and real numbers as a space of points."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution

from rota.arrays import Floats
from rota.search._space import CELLS, SAMPLED, Space, spread

Numeric = FloatDistribution | IntDistribution


class Box(Space):
    """The product of ranges, some of them of whole numbers, some logarithmic; each becomes [0, 1] for the model."""

    def __init__(self, ranges: Mapping[str, BaseDistribution]) -> None:
        self.names = tuple(sorted(ranges))
        self.ranges: list[Numeric] = []
        for name in self.names:
            found = ranges[name]
            assert isinstance(found, FloatDistribution | IntDistribution)
            self.ranges.append(found)

    def distributions(self) -> dict[str, BaseDistribution]:
        return dict(zip(self.names, self.ranges, strict=True))

    @property
    def size(self) -> float:
        """How many points there are."""
        steps = [(r.high - r.low) / r.step + 1 if r.step else math.inf for r in self.ranges]
        return math.prod(steps)

    def _points(self, unit: Floats) -> Floats:
        """From [0, 1] to numbers that the ranges allow."""
        columns = []
        for u, r in zip(unit.T, self.ranges, strict=True):
            x = np.exp(np.log(r.low) + u * np.log(r.high / r.low)) if r.log else r.low + u * (r.high - r.low)
            x = r.low + r.step * np.round((x - r.low) / r.step) if r.step else x
            columns.append(np.clip(x, r.low, r.high))
        return np.stack(columns, axis=1)

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        return self._points(rng.random((count, len(self.names))))

    def candidates(self, rng: np.random.Generator, good: Floats) -> Floats:
        if self.size <= CELLS:
            axes = [np.linspace(r.low, r.high, round((r.high - r.low) / (r.step or 1)) + 1) for r in self.ranges]
            return np.array(list(itertools.product(*axes)))
        scales = np.repeat([0.1, 0.03, 0.01], 100)
        near = [row + rng.normal(size=len(row)) * scale for row in self.features(good) for scale in scales]
        points = np.vstack([self.draw(rng, SAMPLED), self._points(np.clip(np.array(near), 0.0, 1.0))])
        return np.unique(points, axis=0)

    def canonical(self, points: Floats) -> Floats:
        return points

    def features(self, points: Floats) -> Floats:
        columns = []
        for x, r in zip(points.T, self.ranges, strict=True):
            part, whole = (np.log(x / r.low), np.log(r.high / r.low)) if r.log else (x - r.low, r.high - r.low)
            columns.append(part / (whole or 1.0))
        return np.stack(columns, axis=1)

    def grid(self, size: int) -> Floats:
        levels = next(n for n in itertools.count(2) if n ** len(self.names) >= size)
        axes = [np.linspace(0.0, 1.0, levels)] * len(self.names)
        return spread(np.unique(self._points(np.array(list(itertools.product(*axes)))), axis=0), size)
