"""Loss weights by how fast each loss falls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from rota.arrays import Floats
from rota.errors import RotaError
from rota.limits import Count, Positive
from rota.policies._joint_losses import LEAST_LOSS, JointLosses, joint_weights


class DWA(JointLosses):
    """Weights up the losses that fall slowly: the dynamic weight average of Liu, Johns & Davison (2019).

    With the mean loss L(k) of each task in the last period and in the one before,

        w(k) = L_last(k) / L_before(k),   λ(k) = exp(w(k) / T) / Σ_j exp(w(j) / T).

    Args:
        tasks: Names of the tasks.
        every: Joint steps in a period.
        tau: Temperature T: a large one makes weights equal.

    >>> from rota import Feedback
    >>> policy = DWA(["rte", "mrpc"], every=1, tau=1.0)
    >>> for task, loss in [("rte", 1.0), ("mrpc", 1.0), ("rte", 1.0), ("mrpc", 0.5)]:
    ...     policy.observe(Feedback(task, loss))
    >>> policy.probabilities(step=2).round(3)
    array([0.622, 0.378])

    Reference:
        S. Liu, E. Johns and A. Davison, End-to-End Multi-Task Learning with Attention, 2019 (T = 2).

    Where this differs from the paper:
        Its period is an epoch; data sets of different sizes have no common one, so it is a number of steps here. Its
        weights add up to the number of tasks, here to 1: multiply the learning rate of SGD; with Adam there is no
        difference. Ratios lie near 1, so with T = 2 the weights stay near equal whatever the tasks.
    """

    state: ClassVar = (*JointLosses.state, "total", "last", "before", "steps")

    def __init__(self, tasks: Sequence[str], every: Count = 100, tau: Positive = 2.0) -> None:
        super().__init__(tasks)
        if every < 1:
            raise RotaError(f"DWA expects periods of one step or more. Found {every}.")
        if not tau > 0:
            raise RotaError(f"DWA expects tau above 0. Found {tau}.")
        self.every, self.tau = every, tau
        self.total: Floats = np.zeros(len(self.tasks))
        self.last: Floats = np.zeros(len(self.tasks))  # 0: not known yet
        self.before: Floats = np.zeros(len(self.tasks))
        self.steps = 0

    def probabilities(self, step: int) -> Floats:
        known = (self.last > 0) & (self.before > 0)
        return joint_weights(np.where(known, self.last / np.where(known, self.before, 1.0), 1.0), self.tau)

    def learn_all(self, losses: Floats) -> None:
        self.total += losses
        self.steps += 1
        if self.steps == self.every:
            self.before, self.last = self.last, np.maximum(self.total / self.every, LEAST_LOSS)
            self.total, self.steps = np.zeros_like(self.total), 0
