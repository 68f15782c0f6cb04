"""Shares by how well each task's gradient points the way of a target's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from rota.arrays import Floats
from rota.feedback import Feedback
from rota.limits import Positive
from rota.policies._mirror import MirrorAscent
from rota.policies._pike import LARGEST


class DGA(MirrorAscent):
    """Prefers tasks whose gradient would lower the loss of a target: dynamic gradient alignment of Fan et al. (2024),
    which is DoGE (Fan et al. 2023) for one target, and the step of the sources in GRAPE (2025).

        w(k) ← w(k) exp(η ⟨∇L_k, ∇L_target⟩) / Σ_j …

    as soon as the product was heard of all tasks. `rota.sources.Gradients(target=…)` measures it on the target's dev
    rows.

    Args:
        tasks: Names of the tasks.
        step: Mean size of an exponent, to which the products of a survey are scaled; None for the products as they are.
        prior: Weight of each task in the mixture that it begins with; None for equal ones.

    >>> policy = DGA(["helps", "harms"], step=0.5)
    >>> for task, product in {"helps": 3e-4, "harms": -3e-4}.items():
    ...     policy.observe(Feedback(task, product))
    >>> policy.probabilities(step=1).round(3)
    array([0.731, 0.269])

    Reference:
        S. Fan et al., DoGE: Domain Reweighting with Generalization Estimation, 2023; S. Fan et al., Dynamic Gradient
        Alignment for Online Data Mixing, 2024.

    Where this differs from the papers:
        Products are scaled to a mean size of `step`, as their unit changes during a run; the papers tune η and average
        the weights. The target's gradient is that of dev rows.
    """

    hears: tuple[str, ...] | None = ("gradient",)
    state: ClassVar = (*MirrorAscent.state, "products", "heard")

    def __init__(
        self, tasks: Sequence[str], step: Positive | None = 0.1, prior: Mapping[str, float] | None = None
    ) -> None:
        super().__init__(tasks, step, prior)
        self.products: Floats = np.zeros(len(self.tasks))
        self.heard = np.zeros(len(self.tasks), dtype=np.int64)

    def learn(self, k: int, feedback: Feedback) -> None:
        self.products[k], self.heard[k] = min(max(feedback.value, -LARGEST), LARGEST), 1
        if self.heard.all():
            self.heard = np.zeros_like(self.heard)
            self.climb(self.products)
