"""Loss weights that make all tasks improve at the same rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rota.arrays import Floats
from rota.errors import RotaError, unknown_name
from rota.limits import NotNegative, Positive
from rota.policies._adam import adam
from rota.policies._joint_losses import LEAST_LOSS, JointLosses, joint_weights
from rota.policies._softmax import softmax


class FAMO(JointLosses):
    """Weights up tasks whose loss falls slowly, relative to its size: fast adaptive multitask optimization of Liu et
    al. (2023), at the cost of no gradient of its own.

    With D(k) = L(k) - b(k) above a lower bound b and z = softmax(w), a step minimises the mean of the logarithms of D
    with weights z, whose gradient is that of the losses with the weights

        λ(k) = (z(k) / D(k)) / Σ_j (z(j) / D(j)).

    After it, δ(k) = log D_before(k) - log D_after(k), and w goes down the gradient of Σ_k z(k) δ(k), by Adam:

        ∂/∂w(k) = z(k) (δ(k) - Σ_j z(j) δ(j)).

    Args:
        tasks: Names of the tasks.
        lr: Learning rate of w.
        weight_decay: Weight decay of w, which draws z back to equal shares.
        least: Lower bound b of each task's loss; 0 where none is given.

    >>> from rota import Feedback
    >>> policy = FAMO(["slow", "fast"], lr=1.0)
    >>> for task, loss in [("slow", 1.0), ("fast", 1.0), ("slow", 0.9), ("fast", 0.5)]:
    ...     policy.observe(Feedback(task, loss))
    >>> softmax(policy.weights).round(3)
    array([0.881, 0.119])

    Reference:
        B. Liu et al., FAMO: Fast Adaptive Multitask Optimization, 2023 (lr 0.025; its decay is tuned, 0.001 is usual).

    Where this differs from the paper:
        There, D_after is of the same batch, for which it takes another forward pass; here it is that of the next batch,
        which is free and noisier: Adam divides by the noise, and averages it. Use a smaller lr with small batches. D of
        the weights is that of the step before. D below 1e-8 counts as 1e-8.
    """

    state: ClassVar = (*JointLosses.state, "weights", "above", "first", "second", "updates")

    def __init__(
        self,
        tasks: Sequence[str],
        lr: Positive = 0.025,
        weight_decay: NotNegative = 1e-3,
        least: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(tasks)
        for name, value in {"lr": lr, "weight_decay": weight_decay}.items():
            if not 0 <= value < np.inf or (name == "lr" and value == 0):
                raise RotaError(f"FAMO expects {name} of 0 or more, and an lr above it. Found {value}.")
        for task in least or {}:
            if task not in self._index:
                raise unknown_name("task in the lower bounds", task, self.tasks)
        self.lr, self.weight_decay = lr, weight_decay
        self._least: Floats = np.array([float((least or {}).get(task, 0.0)) for task in self.tasks])
        self.weights: Floats = np.zeros(len(self.tasks))
        self.above: Floats = np.zeros(len(self.tasks))  # 0: not known yet
        self.first: Floats = np.zeros(len(self.tasks))
        self.second: Floats = np.zeros(len(self.tasks))
        self.updates = 0

    def probabilities(self, step: int) -> Floats:
        known = self.above > 0
        usual = float(np.log(self.above[known]).mean()) if known.any() else 0.0
        return joint_weights(self.weights - np.where(known, np.log(np.where(known, self.above, 1.0)), usual))

    def learn_all(self, losses: Floats) -> None:
        above: Floats = np.maximum(losses - self._least, LEAST_LOSS)
        if self.above.all():
            self.updates += 1
            shares, fallen = softmax(self.weights), np.log(self.above) - np.log(above)
            slope = shares * (fallen - (shares * fallen).sum())
            moments = self.first, self.second
            self.weights, self.first, self.second = adam(
                self.weights, slope, *moments, self.updates, self.lr, self.weight_decay
            )
        self.above = above

    def welcome(self, stays: NDArray[np.bool_]) -> None:
        """Newcomers begin with the mean weight of the others."""
        self.weights[~stays] = self.weights[stays].mean()
