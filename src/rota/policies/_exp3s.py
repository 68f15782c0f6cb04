"""Exp3.S: the bandit of automated curriculum learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rota.arrays import Floats
from rota.errors import RotaError, unknown_name
from rota.feedback import Feedback
from rota.limits import PartShare, Positive, TwoOrMore
from rota.policies._base import Policy
from rota.policies._reservoir import Reservoir
from rota.policies._task_weights import prior_shares

Importance = Literal["rho-floored", "rho", "pi"]
"""What Exp3.S divides a reward by."""


class Exp3S(Policy):
    """Prefers tasks whose batches bring the largest gain, and forgets: Exp3.S of Graves et al. (2017) as used
    by Glover & Hokamp (2019), section 3.2.

    With log-weights ω over N tasks (eq. 5),

        ρ = softmax(ω),  π(k) = (1 - ε) ρ(k) + ε / N,
        r̃(k) = r / ρ(k) for the task that was chosen, 0 for the others,
        ω'(k) = log[(1 - α) exp(ω(k) + η r̃(k)) + α / (N - 1) Σ_{j≠k} exp(ω(j) + η r̃(j))],

    where r is the observed gain on the scale of the gains seen so far (`Reservoir`) and α = 1/t. All in log
    space: nothing overflows, however long the run.

    With a prior μ, ω begins at log μ, and what is spread or redistributed goes to the tasks as μ says, so that without
    rewards the mixture stays μ (the prior-scaled exploration of DynamixSFT, Shin et al. 2025, in this bandit):

        π(k) = (1 - ε) ρ(k) + ε μ(k),   r̃(k) = r / max(ρ(k), ε μ(k)),
        ω'(k) = log[(1 - α') exp(x(k)) + α' μ(k) Σ_j exp(x(j))],   x = ω + η r̃,   α' = min(1, α N / (N - 1)).

    With equal shares that is the rule above.

    Args:
        tasks: Names of the tasks.
        eta: Step size η of the weights.
        epsilon: Share ε of the probability that is spread evenly over all tasks.
        seed: Of the reservoir's own generator.
        importance: What the reward is divided by: "rho-floored", ρ but at least ε / N; "rho", as printed; or "pi"
            (unbiased, as Graves et al. do).
        alpha: Share of the weight that is redistributed; None for 1/t, a number for a constant.
        reservoir: How many gains the scaling remembers.
        prior: Weight of each task in the mixture that the policy begins with and stays near; None for equal ones.

    >>> policy = Exp3S(["rte", "mrpc"], eta=0.1)
    >>> for step, gain in enumerate([0.1, 0.4, 0.2, 0.9]):
    ...     policy.observe(Feedback("mrpc", gain, probability=0.5, step=step))
    >>> policy.probabilities(step=4).round(3)
    array([0.472, 0.528])

    Reference:
        J. Glover and C. Hokamp, Task Selection Policies for Multitask Learning, 2019;
        A. Graves et al., Automated Curriculum Learning for Neural Networks, 2017;
        H. Shin et al., DynamixSFT: Dynamic Mixture Optimization of Instruction Tuning Collections, 2025 (the prior).

    Where this differs from the paper:
        α = 1/t would be 1 at the first update and turn the preference round; t starts at 2. The size of the
        reservoir is not printed; 1,000 here. A value without a probability (a survey) enters with weight 1.

        Printed is r / ρ, which is unstable: a task is drawn with at least ε / N however small its ρ is, and its
        log-weight then moves by η / ρ. With η = 0.001 a single step moves π by more than 0.05 once ρ is below 1.7e-4
        (one part in 5,800), and by more than 0.5 below 1.0e-4. In a bandit of eight arms of which two take turns at
        being the best, that came between 60,000 and 200,000 steps, and π moved by 0.95 at once. "rho-floored" is the
        same rule while ρ is above ε / N, the floor of π; with it, as with "pi", no step moves a log-weight by more than
        η N / ε, so none moves π by more than (1 - ε) tanh(η N / 4ε): 0.04 with 8 tasks and the printed η and ε.
    """

    hears: tuple[str, ...] | None = ("gain",)
    state: ClassVar = ("log_weights", "updates", "scaling")

    def __init__(
        self,
        tasks: Sequence[str],
        eta: Positive = 1e-3,
        epsilon: PartShare = 0.05,
        seed: int = 0,
        *,
        importance: Importance = "rho-floored",
        alpha: PartShare | None = None,
        reservoir: TwoOrMore = 1000,
        prior: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(tasks)
        if not eta > 0:
            raise RotaError(f"Exp3S expects eta above 0. Found {eta}.")
        if not 0 <= epsilon < 1:
            raise RotaError(f"Exp3S expects epsilon in [0, 1). Found {epsilon}.")
        if alpha is not None and not 0 <= alpha < 1:
            raise RotaError(f"Exp3S expects alpha in [0, 1), or None for 1/t. Found {alpha}.")
        if importance not in get_args(Importance):
            raise unknown_name("importance", importance, get_args(Importance))
        self.eta, self.epsilon, self.alpha, self.importance = eta, epsilon, alpha, importance
        self._prior = None if prior is None else prior_shares("Exp3S", self.tasks, prior)
        if self._prior is None:
            self._even: Floats = np.full(len(self.tasks), epsilon / len(self.tasks))
            self.log_weights: Floats = np.zeros(len(self.tasks))
        else:
            self._even, self.log_weights = epsilon * self._prior, np.log(self._prior / self._prior.max())
        self.updates = 0
        self.scaling = Reservoir(reservoir, seed)

    def probabilities(self, step: int) -> Floats:
        weights: Floats = np.exp(self.log_weights)  # at most 1: `learn` keeps the largest log-weight at 0
        weights *= (1.0 - self.epsilon) / weights.sum()
        weights += self._even
        return weights

    def learn(self, k: int, feedback: Feedback) -> None:
        reward = self.scaling.scale(feedback.value)
        if len(self.tasks) == 1:
            return  # nobody to share with
        self.updates += 1
        alpha = 1.0 / (self.updates + 1) if self.alpha is None else self.alpha
        x = self.log_weights
        x[k] += self.eta * reward / self._weight(k, feedback.probability)
        self.log_weights = shared(x, alpha, self._prior)
        self.log_weights -= self.log_weights.max()

    def welcome(self, stays: NDArray[np.bool_]) -> None:
        """Newcomers begin with the mean weight of the others, or, with a prior, with their share of it."""
        self.log_weights -= self.log_weights[stays].max()
        weights = np.exp(self.log_weights[stays])
        if self._prior is None:
            self.log_weights[~stays] = np.log(weights.mean())
        else:
            self.log_weights[~stays] = np.log(self._prior[~stays] * weights.sum() / self._prior[stays].sum())
        self.log_weights -= self.log_weights.max()

    def _weight(self, k: int, probability: float | None) -> float:
        """The denominator of r̃: ρ of the choice, recovered from its π, so that late feedback is right too."""
        if probability is None:
            return 1.0
        if self.importance == "pi":
            return probability
        even = float(self._even[k])
        least = even if self.importance == "rho-floored" else 0.0
        return max((probability - even) / (1.0 - self.epsilon), least, 1e-12)


def shared(x: Floats, alpha: float, prior: Floats | None = None) -> Floats:
    """Log-weights after each task gave the share `alpha` of its weight to the others, in equal parts or as a prior
    says. Σ exp(x) is conserved.

    >>> before = np.array([0.0, 1.0, 2.0])
    >>> bool(np.isclose(np.exp(before).sum(), np.exp(shared(before, alpha=0.3)).sum()))
    True
    """
    top = x.max()
    weights = np.exp(x - top)
    if prior is None:
        others = weights.sum() - weights
        mixed: Floats = (1.0 - alpha) * weights + alpha / (len(x) - 1) * others
    else:
        part = min(1.0, alpha * len(x) / (len(x) - 1))
        mixed = (1.0 - part) * weights + part * prior * weights.sum()
    # With alpha = 0 a weight may underflow to nothing; the smallest normal number stands for it.
    logs: Floats = np.log(np.maximum(mixed, np.finfo(np.float64).tiny)) + top
    return logs
