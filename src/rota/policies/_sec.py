"""A curriculum over sources of prompts, by how much there is to learn from each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rota.arrays import Floats
from rota.errors import RotaError
from rota.feedback import Feedback
from rota.limits import Positive, Share
from rota.policies._base import Policy
from rota.policies._softmax import softmax


class SEC(Policy):
    """Prefers sources whose rewards vary: the self-evolving curriculum of Chen et al. (2025), for reinforcement
    learning.

        Q(c) ← α r + (1 - α) Q(c),   π(c) = exp(Q(c) / τ) / Σ_j exp(Q(j) / τ),

    where r is the mean absolute advantage of the rollouts of source c in an update. With rewards of 0 and 1 and a group
    of answers to each prompt, it is largest where the model answers half of them rightly, and 0 where it answers all of
    them, or none.

    Args:
        tasks: Names of the sources.
        alpha: Step size α.
        tau: Temperature τ, in units of the reward: a small one prefers more sharply.

    >>> policy = SEC(["easy", "medium", "hard"], alpha=1.0, tau=0.2)
    >>> policy.observe(Feedback("medium", 0.5)), policy.observe(Feedback("hard", 0.1))
    (None, None)
    >>> policy.probabilities(step=1).round(2)
    array([0.07, 0.82, 0.11])

    Reference:
        X. Chen et al., Self-Evolving Curriculum for LLM Reasoning, 2025.

    Where this differs from the paper:
        α and τ are tuned there for each set of tasks; 0.5 and 1 are here where nobody says otherwise. Newcomers begin
        with the mean of the others. No floor: use `WithFloor`, or `DUMP`, which looks at what it has seldom seen.
    """

    hears: tuple[str, ...] | None = ("reward",)
    state: ClassVar = ("values",)

    def __init__(self, tasks: Sequence[str], alpha: Share = 0.5, tau: Positive = 1.0) -> None:
        super().__init__(tasks)
        if not 0 < alpha <= 1:
            raise RotaError(f"SEC expects alpha in (0, 1]. Found {alpha}.")
        if not tau > 0:
            raise RotaError(f"SEC expects tau above 0. Found {tau}.")
        self.alpha, self.tau = alpha, tau
        self.values: Floats = np.zeros(len(self.tasks))

    def probabilities(self, step: int) -> Floats:
        return softmax(self.values, self.tau)

    def learn(self, k: int, feedback: Feedback) -> None:
        self.values[k] = self.alpha * feedback.value + (1.0 - self.alpha) * self.values[k]

    def welcome(self, stays: NDArray[np.bool_]) -> None:
        """Newcomers begin with the mean value of the others."""
        self.values[~stays] = self.values[stays].mean()
