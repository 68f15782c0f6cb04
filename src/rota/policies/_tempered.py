"""Sampling by a power of the data set sizes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rota.arrays import Floats
from rota.errors import RotaError
from rota.policies._base import Policy
from rota.policies._softmax import softmax
from rota.policies._task_weights import positive_weights
from rota.schedules import Schedule, as_schedule


class Tempered(Policy):
    """Tasks by a power of their size: p(k) ∝ size(k)^power(step).

    Power 1 is `proportional`, 0 is `uniform`; T5's temperature T is the power 1/T; a schedule such as
    `rota.schedules.annealed_power` gives the annealed sampling of PALs (Stickland & Murray 2019).

    Args:
        sizes: Rows of each task.
        power: A number, or a function of the step.

    >>> Tempered({"rte": 100, "sst2": 10_000}, power=0.5).probabilities(step=0).round(4)
    array([0.0909, 0.9091])
    """

    def __init__(self, sizes: Mapping[str, float], power: float | Schedule = 0.5) -> None:
        super().__init__(list(sizes))
        weights = positive_weights("Tempered", sizes, "sizes")
        if not weights.all():
            empty = [task for task, size in sizes.items() if not size]
            raise RotaError(f"Tempered expects tasks with rows. Found size zero: {', '.join(empty)}.")
        self._log_sizes = np.log(weights)
        self._power = as_schedule(power)

    def probabilities(self, step: int) -> Floats:
        return softmax(self._power(step) * self._log_sizes)
