"""A bandit whose reward is the loss."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rota.arrays import Floats
from rota.errors import RotaError, unknown_name
from rota.feedback import Feedback
from rota.limits import PartShare, Positive, Whole
from rota.policies._base import Policy
from rota.policies._softmax import softmax
from rota.policies._task_weights import prior_shares

ODMRule = Literal["average", "sum", "perplexity"]
LARGEST = 100.0  # of a loss: exp of it is a number, and so is a sum of a million of them


class ODM(Policy):
    """Prefers tasks with a high training loss: online data mixing of Albalak et al. (2023), a form of Exp3.

    With K tasks and ε_t = min(1 / K, √(ln K / (K t))), t = 1, 2, …, the loss L of the task i that was drawn with
    probability π(i) changes its R alone,

        "average":     R(i) ← α R(i) + (1 - α) L / π(i)        as printed,
        "sum":         R(i) ← R(i) + L / (s π(i))              as released, for batches of one task (s = 10),
        "perplexity":  R(i) ← α R(i) + (1 - α) exp(L)          as released, for batches with rows of several tasks,

    and tasks are drawn by

        π(k) = (1 - K ε_t) exp(ε_{t-1} R(k)) / Σ_j exp(ε_{t-1} R(j)) + ε_t,

    "perplexity" by π(k) = (1 - K ε_t) R(k) / Σ_j R(j) + ε_t. The three are different methods: a sum over a long run
    follows the loss over all of it, an average the last losses, and the third is no bandit at all.

    Args:
        tasks: Names of the tasks.
        rule: "average", "sum" or "perplexity", as above.
        alpha: Weight α of the past in an average.
        scale: By what the sum divides losses, s.
        warmup: Steps at the beginning that are drawn from the prior.
        prior: Weight of each task in them; None for equal ones.

    >>> policy = ODM(["easy", "hard"], rule="perplexity", alpha=0.0)
    >>> for task, loss in {"easy": 0.5, "hard": 2.0}.items():
    ...     policy.observe(Feedback(task, loss, probability=0.5, step=0))
    >>> policy.probabilities(step=1).round(3), policy.probabilities(step=10_000).round(3)
    (array([0.447, 0.553]), array([0.186, 0.814]))

    Reference:
        A. Albalak et al., Efficient Online Data Mixing For Language Model Pre-Training, 2023.

    Where this differs from the paper:
        Its released code starts after 2,000 steps; `warmup` says so here, and losses are heard from the first step on.
        There, the probability that a loss is divided by is that of the moment at which the loss arrives; here it is
        that of the draw, however late the loss is. A loss without a draw enters with π = 1. Losses above 100, whose
        perplexity means nothing, count as 100. A high loss is no promise: the method prefers noisy sources, too.
    """

    hears: tuple[str, ...] | None = ("loss",)
    state: ClassVar = ("rewards",)

    def __init__(
        self,
        tasks: Sequence[str],
        rule: ODMRule = "average",
        alpha: PartShare = 0.9,
        scale: Positive = 10.0,
        warmup: Whole = 0,
        prior: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(tasks)
        if rule not in get_args(ODMRule):
            raise unknown_name("rule", rule, get_args(ODMRule))
        if not 0 <= alpha < 1:
            raise RotaError(f"ODM expects alpha in [0, 1). Found {alpha}.")
        if not 0 < scale < math.inf:
            raise RotaError(f"ODM expects a scale above 0. Found {scale}.")
        if warmup < 0:
            raise RotaError(f"ODM expects a warmup of 0 steps or more. Found {warmup}.")
        self.rule, self.alpha, self.scale, self.warmup = rule, alpha, scale, warmup
        self._prior = prior_shares("ODM", self.tasks, prior)
        self.rewards: Floats = np.zeros(len(self.tasks))

    def probabilities(self, step: int) -> Floats:
        if step < self.warmup:
            return self._prior.copy()
        even = self._even(step + 1)
        if self.rule != "perplexity":
            own = softmax(self._even(step) * self.rewards)
        elif self.rewards.any():
            own = self.rewards / self.rewards.sum()
        else:
            own = np.full(len(self.tasks), 1.0 / len(self.tasks))
        return (1.0 - len(self.tasks) * even) * own + even

    def learn(self, k: int, feedback: Feedback) -> None:
        loss = min(max(feedback.value, -LARGEST), LARGEST)
        probability = 1.0 if feedback.probability is None else feedback.probability
        match self.rule:
            case "average":
                self.rewards[k] = self.alpha * self.rewards[k] + (1.0 - self.alpha) * loss / probability
            case "sum":
                self.rewards[k] += loss / (self.scale * probability)
            case "perplexity":
                self.rewards[k] = self.alpha * self.rewards[k] + (1.0 - self.alpha) * math.exp(loss)

    def welcome(self, stays: NDArray[np.bool_]) -> None:
        """Newcomers begin with the mean of the others."""
        self.rewards[~stays] = self.rewards[stays].mean()

    def _even(self, t: int) -> float:
        """ε_t; ε_0 is 1 / K."""
        count = len(self.tasks)
        return min(1.0 / count, math.sqrt(math.log(count) / (count * t))) if t > 0 else 1.0 / count
