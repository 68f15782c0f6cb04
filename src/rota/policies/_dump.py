"""A curriculum by the rewards of a window, with a bonus for what was seldom seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from rota.arrays import Floats
from rota.errors import RotaError
from rota.feedback import Feedback
from rota.limits import Count, Positive
from rota.policies._base import Policy
from rota.policies._softmax import softmax


class DUMP(Policy):
    """Prefers sources whose rewards vary and those that were seldom seen: DUMP (Wang et al. 2025), for reinforcement
    learning.

        u(c) = mean of the last W values of source c + √(2 ln(N + 1) / (n(c) + 1)),
        π(c) = exp(u(c) / τ) / Σ_j exp(u(j) / τ),

    where a value is a mean absolute advantage, n(c) counts those of source c and N all of them.

    Args:
        tasks: Names of the sources.
        tau: Temperature τ.
        window: How many values W of a source count.

    >>> policy = DUMP(["easy", "hard"], tau=1.0)
    >>> for value in (0.4, 0.6):
    ...     policy.observe(Feedback("easy", value))
    >>> policy.probabilities(step=2).round(3)  # 0.5 + √(2 ln 3 / 3) and 0 + √(2 ln 3)
    array([0.468, 0.532])

    Reference:
        Z. Wang et al., DUMP: Automated Distribution-Level Curriculum Learning for RL-based LLM Post-training, 2025.

    Where this differs from the paper:
        Its code counts rollouts, here it is what is told, such as the mean over the rollouts of an update: the bonus
        shrinks with the number of updates that were heard. Until a value was heard, all sources are equally likely.
    """

    hears: tuple[str, ...] | None = ("reward",)
    state: ClassVar = ("recent", "counts", "means")

    def __init__(self, tasks: Sequence[str], tau: Positive = 0.1, window: Count = 300) -> None:
        super().__init__(tasks)
        if not tau > 0:
            raise RotaError(f"DUMP expects tau above 0. Found {tau}.")
        if window < 1:
            raise RotaError(f"DUMP expects a window of one value or more. Found {window}.")
        self.tau, self.window = tau, window
        self.recent: Floats = np.zeros((len(self.tasks), window))
        self.means: Floats = np.zeros(len(self.tasks))
        self.counts = np.zeros(len(self.tasks), dtype=np.int64)

    def probabilities(self, step: int) -> Floats:
        bonus = np.sqrt(2.0 * np.log1p(self.counts.sum()) / (self.counts + 1))
        return softmax(self.means + bonus, self.tau)

    def learn(self, k: int, feedback: Feedback) -> None:
        self.recent[k, self.counts[k] % self.window] = feedback.value
        self.counts[k] += 1
        known = self.recent[k, : self.counts[k]]
        self.means[k] = (known / len(known)).sum()  # the sum of huge rewards may not be a number any more
