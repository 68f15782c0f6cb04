"""Prior-scaled Boltzmann exploration on relative gains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rota.arrays import Floats
from rota.errors import RotaError
from rota.feedback import Feedback
from rota.limits import NotNegative, PartShare
from rota.policies._base import Policy
from rota.policies._softmax import softmax
from rota.policies._task_weights import prior_shares


class DynamixSFT(Policy):
    """Prefers tasks of whose loss an update takes off the largest part, near a prior: DynamixSFT (Shin et al. 2025).

    With prior μ over K tasks and values Q,

        π(k) = (1 - γ) μ(k) exp(β Q(k)) / Σ_j μ(j) exp(β Q(j)) + γ / K,                     (eq. 2, 3)
        Q(k) ← α Q(k) + (1 - α) r̂(k),                                                       (eq. 5)

    where r is the relative gain (L_before - L_after) / L_before, and r̂ its place between the smallest and the largest
    of the last gains of all tasks, in [0, 1].

    Args:
        tasks: Names of the tasks.
        prior: Weight μ of each task, such as its number of rows; None for equal ones.
        beta: Sharpness β: by e^β a task of the largest value exceeds one of the smallest, in multiples of the prior.
        gamma: Share γ that is spread evenly over all tasks.
        alpha: Weight α of the past in a value.

    >>> policy = DynamixSFT(["code", "chat"], prior={"code": 1, "chat": 3}, alpha=0.0)
    >>> for task, gain in {"chat": 0.1, "code": 0.2}.items():
    ...     policy.observe(Feedback(task, gain))
    >>> policy.probabilities(step=1).round(3)
    array([0.814, 0.186])

    Reference:
        H. Shin et al., DynamixSFT: Dynamic Mixture Optimization of Instruction Tuning Collections, 2025 (β = 4,
        γ = 0.3 and α = 0.95 are its settings for a model of a billion parameters).

    Where this differs from the paper:
        The paper rolls a virtual update of each task every 50 steps; here the gain is that of the update that was made,
        of the task that was drawn, so a value is renewed with each draw of its task. A survey of all tasks may be told,
        too. Its efficiency section counts forward passes alone, which a virtual update does not get by with. With one
        gain, or equal ones, r̂ is 0.
    """

    hears: tuple[str, ...] | None = ("gain",)
    state: ClassVar = ("values", "last", "heard")

    def __init__(
        self,
        tasks: Sequence[str],
        prior: Mapping[str, float] | None = None,
        beta: NotNegative = 4.0,
        gamma: PartShare = 0.3,
        alpha: PartShare = 0.95,
    ) -> None:
        super().__init__(tasks)
        if not 0 <= beta < np.inf:
            raise RotaError(f"DynamixSFT expects beta of 0 or more. Found {beta}.")
        for name, value in {"gamma": gamma, "alpha": alpha}.items():
            if not 0 <= value < 1:
                raise RotaError(f"DynamixSFT expects {name} in [0, 1). Found {value}.")
        self.beta, self.gamma, self.alpha = beta, gamma, alpha
        self._log_prior: Floats = np.log(prior_shares("DynamixSFT", self.tasks, prior))
        self.values: Floats = np.zeros(len(self.tasks))
        self.last: Floats = np.zeros(len(self.tasks))
        self.heard = np.zeros(len(self.tasks), dtype=np.int64)

    def probabilities(self, step: int) -> Floats:
        return (1.0 - self.gamma) * softmax(self._log_prior + self.beta * self.values) + self.gamma / len(self.tasks)

    def learn(self, k: int, feedback: Feedback) -> None:
        self.last[k] = feedback.value
        self.heard[k] += 1
        known = self.last[self.heard > 0] / 2  # halves: the spread of two huge gains may not be a number any more
        low, high = known.min(), known.max()
        place = (feedback.value / 2 - low) / (high - low) if high > low else 0.0
        self.values[k] = self.alpha * self.values[k] + (1.0 - self.alpha) * place

    def welcome(self, stays: NDArray[np.bool_]) -> None:
        """Newcomers begin with the mean value of the others."""
        self.values[~stays] = self.values[stays].mean()
