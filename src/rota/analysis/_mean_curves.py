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
    """A mean over runs, step by step, with the smallest and largest run and how many there are.

    >>> curve = mean_curve([{0: 0.9, 10: 0.4, 20: 0.6}, {0: 0.7, 10: 0.6, 20: 0.8}])
    >>> curve.minimum
    (10, 0.5)
    """

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


def mean_curve(series: Sequence[Mapping[int, float]], median: bool = False) -> MeanCurve:
    """Align runs by step; each step is the mean (or the median) of the runs that have a number there.

    >>> curve = mean_curve([{0: 0.5, 10: 0.75}, {0: 0.25, 10: 0.25, 20: 1.0}])  # two runs; one is shorter
    >>> curve.steps.tolist(), curve.mean.tolist(), curve.runs.tolist()
    ([0, 10, 20], [0.375, 0.5, 1.0], [2, 2, 1])
    >>> mean_curve([{0: 0.5}, {0: 0.25}, {0: 1.0}], median=True).mean.tolist()
    [0.5]
    """
    steps = sorted({step for values in series for step in values})
    columns = [[values[step] for values in series if step in values] for step in steps]
    mean, low, high = (
        np.array([of(column) for column in columns], dtype=np.float64)
        for of in (np.median if median else np.mean, np.min, np.max)
    )
    runs = np.array([len(column) for column in columns], dtype=np.int64)
    return MeanCurve(np.array(steps, dtype=np.int64), mean, low, high, runs)


def median_curves(study: Study) -> dict[str, MeanCurve]:
    """How policies learn in an environment of the MTL bandit: medians over the seeds in place of means.

    >>> from rota.simulation import Study
    >>> study = Study(np.array([0, 10]), {"uniform": np.array([[0.0, 0.5], [0.0, 0.75], [0.0, 0.5625]])})
    >>> median_curves(study)["uniform"].mean.tolist()
    [0.0, 0.5625]
    """
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
