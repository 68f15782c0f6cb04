"""What a search has learned: predicted scores of other ratios, and what random search would have found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rota.arrays import Floats
from rota.search._space import Mixtures
from rota.search._surrogate import Surrogate
from rota.seeds import generator

if TYPE_CHECKING:
    from rota.search._result import RatioTrial


FEWEST = 3  # trials without which nothing is believed
GAMES = 400  # random searches that are played through


@dataclass(frozen=True)
class Slice:
    """How good the best ratio would be with other numbers of one task.

    Attributes:
        at: These numbers.
        share: Which share of all batches that is.
        mean, deviation: The score that is believed, and how surely.
    """

    at: tuple[float, ...]
    share: tuple[float, ...]
    mean: tuple[float, ...]
    deviation: tuple[float, ...]


class RatioModel:
    """A Gaussian process over what was tried.

    Args:
        space: Of the ratios.
        trials: Those that have a value of their own.
    """

    def __init__(self, space: Mixtures, trials: list[RatioTrial]) -> None:
        self.space = space
        self._points = np.array([[float(trial.ratio[name]) for name in space.names] for trial in trials])
        self._values = np.array([trial.value for trial in trials], dtype=float)
        self._surrogate = Surrogate(space.features(self._points), self._values)

    def predict(self, points: Floats) -> tuple[Floats, Floats]:
        """Mean and deviation of the scores of ratios."""
        mean, deviation = self._surrogate.predict(self.space.features(points))
        return self._surrogate.center + self._surrogate.scale * mean, self._surrogate.scale * deviation

    def slices(self) -> dict[str, Slice]:
        """By task: the best ratio with more and less of it."""
        best = self._points[int(self._values.argmax())]
        found = {}
        for k, name in enumerate(self.space.names):
            points = self.space.along(best, k)
            mean, deviation = self.predict(points)
            shares = points[:, k] / points.sum(axis=1)
            found[name] = Slice(*(tuple(row.tolist()) for row in (points[:, k], shares, mean, deviation)))
        return found

    def random_best(self, trials: int) -> list[float]:
        """The best score after each of so many random ratios, on average over many random searches. Nothing is trained
        for that: scores are drawn as this model believes them, with the noise of a training."""
        rng = generator(0, "random searches")
        points = self.space.draw(rng, GAMES * trials)
        mean, deviation = self.predict(points)
        spread = np.sqrt(deviation**2 + self._surrogate.noise * self._surrogate.scale**2)
        scores = (mean + spread * rng.normal(size=len(mean))).reshape(-1, trials)
        best: list[float] = np.maximum.accumulate(scores, axis=1).mean(axis=0).tolist()
        return best
