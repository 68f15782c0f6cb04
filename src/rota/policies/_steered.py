"""A mixture that a person or another program replaces while training goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rota.arrays import Floats
from rota.feedback import Feedback
from rota.policies._base import Policy


class Steered(Policy):
    """The weights that it was told last: π(k) = w(k) / Σ_j w(j). Use it where a person watches a run and wants to
    change its mixture without a new one.

    It hears "weight": a task's new weight, in any unit. Until it has heard one, and where no weight is above zero,
    every task is as likely as any other. A negative weight counts as zero.

    Args:
        tasks: Their names.

    >>> policy = Steered(["rte", "mrpc"])
    >>> for task, weight in {"rte": 1.0, "mrpc": 3.0}.items():
    ...     policy.observe(Feedback(task, weight))
    >>> policy.probabilities(step=0)
    array([0.25, 0.75])
    """

    hears: tuple[str, ...] | None = ("weight",)
    state: ClassVar[tuple[str, ...]] = ("weights",)

    def __init__(self, tasks: Sequence[str]) -> None:
        super().__init__(tasks)
        self.weights = np.ones(len(self.tasks))

    def probabilities(self, step: int) -> Floats:
        largest = self.weights.max()
        relative = self.weights / largest if largest > 0 else np.ones_like(self.weights)  # a sum could overflow
        return relative / relative.sum()  # type: ignore[no-any-return]

    def learn(self, k: int, feedback: Feedback) -> None:
        self.weights[k] = max(feedback.value, 0.0)

    def welcome(self, stays: NDArray[np.bool_]) -> None:
        """Newcomers have the mean weight of the others, until they are given one."""
        largest = self.weights[stays].max()
        self.weights[~stays] = (self.weights[stays] / largest).mean() * largest if largest > 0 else 0.0
