"""Policies that never change their mind: a fixed mixture, and its two usual special cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rota.arrays import Floats
from rota.policies._base import Policy
from rota.policies._task_weights import positive_weights, task_names


class Fixed(Policy):
    """The same mixture at every step.

    Args:
        mixture: Weight of each task; only their ratio matters. A task may have weight zero.

    >>> Fixed({"rte": 1, "mrpc": 3}).probabilities(step=0)
    array([0.25, 0.75])
    """

    def __init__(self, mixture: Mapping[str, float]) -> None:
        super().__init__(list(mixture))
        weights = positive_weights("Fixed", mixture)
        self._probabilities: Floats = weights / weights.sum()
        self._probabilities.flags.writeable = False  # handed out as it is, every step

    @property
    def mixture(self) -> dict[str, float]:
        """The probability of each task."""
        return self.shares(step=0)

    def probabilities(self, step: int) -> Floats:
        return self._probabilities


def uniform(tasks: Sequence[str]) -> Fixed:
    """Every task equally often: RANDOM of Glover & Hokamp (2019), eq. 3.

    >>> uniform(["rte", "mrpc"]).mixture
    {'rte': 0.5, 'mrpc': 0.5}
    """
    return Fixed(dict.fromkeys(task_names("uniform", tasks), 1.0))


def proportional(sizes: Mapping[str, float]) -> Fixed:
    """Tasks by the size of their data: TASK SIZE of Glover & Hokamp (2019), eq. 4.

    >>> proportional({"rte": 2500, "sst2": 7500}).mixture
    {'rte': 0.25, 'sst2': 0.75}
    """
    return Fixed(sizes)
