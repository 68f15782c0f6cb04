"""Policies whose shares are weights of losses: what they have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from rota.arrays import Floats
from rota.feedback import Feedback
from rota.policies._base import Policy
from rota.policies._losses import LARGEST
from rota.policies._softmax import softmax

LEAST_LOSS = 1e-8  # of what is divided by, or whose logarithm is taken
LEAST_WEIGHT = 1e-8  # a task of weight zero is left out of a joint step, and its loss would never be heard again


class JointLosses(Policy):
    """Learns from the losses of all tasks at once, one after each joint step; where tasks are drawn one by one, from
    their mean losses as soon as each was heard.

    Args:
        tasks: Names of the tasks.
    """

    hears: tuple[str, ...] | None = ("loss",)
    state: ClassVar[tuple[str, ...]] = ("sums", "counts")

    def __init__(self, tasks: Sequence[str]) -> None:
        super().__init__(tasks)
        self.sums: Floats = np.zeros(len(self.tasks))
        self.counts = np.zeros(len(self.tasks), dtype=np.int64)

    @abstractmethod
    def learn_all(self, losses: Floats) -> None:
        """Remember the losses of all tasks."""

    def learn(self, k: int, feedback: Feedback) -> None:
        self.sums[k] += min(max(feedback.value, -LARGEST), LARGEST)
        self.counts[k] += 1
        if self.counts.all():
            losses = self.sums / self.counts
            self.sums, self.counts = np.zeros_like(self.sums), np.zeros_like(self.counts)
            self.learn_all(losses)


def joint_weights(logits: Floats, tau: float = 1.0) -> Floats:
    """A softmax in which no weight is zero.

    >>> [f"{weight:.0e}" for weight in joint_weights(np.array([0.0, 1000.0]))]
    ['1e-08', '1e+00']
    """
    weights: Floats = np.maximum(softmax(logits, tau), LEAST_WEIGHT)
    weights /= weights.sum()
    return weights
