"""Curves of several runs: their mean, the smallest and the largest, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rota.arrays import Floats

if TYPE_CHECKING:
    from rota.simulation import Study


@dataclass(frozen=True)
class MeanCurve:
    """A mean over runs, step by step, with the smallest and largest run and how many there are."""

    steps: NDArray[np.int64]
    mean: Floats
    low: Floats
    high: Floats
    runs: NDArray[np.int64]

    @property
    def minimum(self) -> tuple[int, float] | None:
        """Step and value of the lowest mean; the earlier one of equals."""
        if not len(self.steps):
            return None
        at = int(np.argmin(self.mean))
        return int(self.steps[at]), float(self.mean[at])


def mean_curve(series: Sequence[Mapping[int, float]]) -> MeanCurve:
    """Align runs by step; each step is the mean of the runs that have a number there."""
    steps = sorted({step for values in series for step in values})
    columns = [[values[step] for values in series if step in values] for step in steps]
    mean, low, high = (
        np.array([of(column) for column in columns], dtype=np.float64) for of in (np.mean, np.min, np.max)
    )
    runs = np.array([len(column) for column in columns], dtype=np.int64)
    return MeanCurve(np.array(steps, dtype=np.int64), mean, low, high, runs)


def median_curves(study: Study) -> dict[str, MeanCurve]:
    """How policies learn in an environment of the MTL bandit: medians over the seeds in place of means."""
    return {
        name: MeanCurve(
            study.steps.astype(np.int64),
            np.median(scores, axis=0),
            scores.min(axis=0),
            scores.max(axis=0),
            np.full(scores.shape[1], len(scores)),
        )
        for name, scores in study.curves.items()
    }
