"""Loss weights by the noise of each task, learned or in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rota.arrays import Floats
from rota.errors import RotaError, unknown_name
from rota.limits import Positive
from rota.policies._adam import adam
from rota.policies._joint_losses import LEAST_LOSS, JointLosses, joint_weights

UWRule = Literal["adam", "sgd", "optimal"]
WIDEST = 20.0  # of a log-variance: a loss of zero would drive it to minus infinity


class UW(JointLosses):
    """Weights losses by the inverse of a variance that is learned with them: uncertainty weighting of Kendall, Gal &
    Cipolla (2018).

    With a log-variance s(k) of each task, the loss of a step is Σ_k L(k) exp(-s(k)) / 2 + s(k) / 2, so the weights are

        λ(k) = exp(-s(k)) / Σ_j exp(-s(j)),   and ∂/∂s(k) = (1 - L(k) exp(-s(k))) / 2.

    The log-variances belong to the policy, not to the model and its optimizer: they are moved after each step, by the
    losses that were heard, with an Adam or SGD of their own. "optimal" jumps to where the gradient is zero,
    exp(s(k)) = L(k), so that λ(k) ∝ 1 / L(k) (UW-O of Kirchdorfer et al. 2024).

    Args:
        tasks: Names of the tasks.
        rule: "adam", "sgd" or "optimal".
        lr: Learning rate of the log-variances.

    >>> from rota import Feedback
    >>> policy = UW(["rte", "mrpc"], rule="optimal")
    >>> for task, loss in {"rte": 0.6, "mrpc": 0.2}.items():
    ...     policy.observe(Feedback(task, loss))
    >>> policy.probabilities(step=1).round(3)
    array([0.25, 0.75])

    Reference:
        A. Kendall, Y. Gal and R. Cipolla, Multi-Task Learning Using Uncertainty to Weigh Losses for Scene Geometry and
        Semantics, 2018;
        L. Kirchdorfer et al., Analytical Uncertainty-Based Loss Weighting in Multi-Task Learning, 2024.

    Where this differs from the paper:
        There, s is a parameter of the model, moved in the same step with the same optimizer, weight decay and clipping;
        here it follows one step later. Weights add up to 1, there they grow as losses fall: a hidden rise of the
        learning rate of SGD, which has no effect with Adam. Losses below zero count as zero, and s stays in [-20, 20].
    """

    state: ClassVar = (*JointLosses.state, "log_variances", "first", "second", "updates")

    def __init__(self, tasks: Sequence[str], rule: UWRule = "adam", lr: Positive = 1e-2) -> None:
        super().__init__(tasks)
        if rule not in get_args(UWRule):
            raise unknown_name("rule", rule, get_args(UWRule))
        if not 0 < lr < np.inf:
            raise RotaError(f"UW expects lr above 0. Found {lr}.")
        self.rule, self.lr = rule, lr
        self.log_variances: Floats = np.zeros(len(self.tasks))
        self.first: Floats = np.zeros(len(self.tasks))
        self.second: Floats = np.zeros(len(self.tasks))
        self.updates = 0

    def probabilities(self, step: int) -> Floats:
        return joint_weights(-self.log_variances)

    def learn_all(self, losses: Floats) -> None:
        self.updates += 1
        gradient = (1.0 - np.maximum(losses, 0.0) * np.exp(-self.log_variances)) / 2
        match self.rule:
            case "optimal":
                moved: Floats = np.log(np.maximum(losses, LEAST_LOSS))
            case "sgd":
                moved = self.log_variances - self.lr * gradient
            case "adam":
                moments = self.first, self.second
                moved, self.first, self.second = adam(self.log_variances, gradient, *moments, self.updates, self.lr)
        self.log_variances = np.clip(moved, -WIDEST, WIDEST)

    def welcome(self, stays: NDArray[np.bool_]) -> None:
        """Newcomers begin with the mean log-variance of the others."""
        self.log_variances[~stays] = self.log_variances[stays].mean()
