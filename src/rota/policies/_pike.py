"""Shares by the size of each task's gradient, and its noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from rota.arrays import Floats
from rota.errors import RotaError
from rota.feedback import Feedback
from rota.limits import NotNegative, Positive
from rota.policies._mirror import MirrorAscent

LARGEST = 1e100  # of what is told, so that sums and products are numbers


class PiKE(MirrorAscent):
    """Prefers tasks with a large gradient and little noise in it: PiKE of Li et al. (2025), for tasks whose gradients
    do not conflict.

    With the squared norm G(k) of the gradient of each task's loss, its variance σ²(k) for one row, and batches of b
    rows,

        u(k) = ζ₁ G(k) - ζ₂ σ²(k) / (2 b),   w(k) ← w(k) exp(u(k)) / Σ_j w(j) exp(u(j)),

    as soon as both numbers were heard of all tasks. `rota.sources.Gradients` measures them, without bias, from the
    gradients g₁ and g₂ of two batches of m rows: G = g₁·g₂ and σ² = m |g₁ - g₂|² / 2.

    Args:
        tasks: Names of the tasks.
        norm: Weight ζ₁ of the squared norm.
        noise: Weight ζ₂ of the variance.
        batch_size: Rows b of a batch.
        step: Mean size of u, to which all u of a survey are scaled, since squared norms differ by orders of magnitude
            between models and in the course of a run; None for u as it is.
        prior: Weight of each task in the mixture that it begins with; None for equal ones.

    >>> policy = PiKE(["clear", "noisy"], batch_size=10, step=None)
    >>> for word, clear, noisy in [("gradient", 1.0, 1.0), ("gradient variance", 2.0, 20.0)]:
    ...     for task, value in {"clear": clear, "noisy": noisy}.items():
    ...         policy.observe(Feedback(task, value, about=word))
    >>> policy.probabilities(step=1).round(3)  # u = 1 - 2 / 20 and 1 - 20 / 20
    array([0.711, 0.289])

    Reference:
        Z. Li et al., PiKE: Adaptive Data Mixing for Large-Scale Multi-Task Learning Under Low Gradient Conflicts, 2025,
        algorithm 1.

    Where this differs from the paper:
        There, u is not scaled, and ζ₁ and ζ₂ are tuned for each model; with `step=None` and these it is as printed. Its
        batches have rows of all tasks; here tasks are drawn by w. How it estimates G and σ² is not printed. The
        balanced form, for tilted losses, is left out.
    """

    hears: tuple[str, ...] | None = ("gradient", "gradient variance")
    state: ClassVar = (*MirrorAscent.state, "norms", "variances", "norm_heard", "variance_heard")

    def __init__(
        self,
        tasks: Sequence[str],
        norm: NotNegative = 1.0,
        noise: NotNegative = 1.0,
        batch_size: Positive = 32,
        step: Positive | None = 0.1,
        prior: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(tasks, step, prior)
        if not (0 <= norm < np.inf and 0 <= noise < np.inf and batch_size > 0):
            raise RotaError(
                f"PiKE expects norm and noise of 0 or more, and a batch size above it. Found {norm}, {noise} and "
                f"{batch_size}."
            )
        self.norm, self.noise, self.batch_size = norm, noise, batch_size
        self.norms: Floats = np.zeros(len(self.tasks))
        self.variances: Floats = np.zeros(len(self.tasks))
        self.norm_heard = np.zeros(len(self.tasks), dtype=np.int64)
        self.variance_heard = np.zeros(len(self.tasks), dtype=np.int64)

    def learn(self, k: int, feedback: Feedback) -> None:
        value = min(max(feedback.value, -LARGEST), LARGEST)
        if feedback.about == "gradient variance":
            self.variances[k], self.variance_heard[k] = max(value, 0.0), 1
        else:
            self.norms[k], self.norm_heard[k] = value, 1
        if self.norm_heard.all() and (self.variance_heard.all() or self.noise == 0):
            self.norm_heard, self.variance_heard = np.zeros_like(self.norm_heard), np.zeros_like(self.variance_heard)
            self.climb(self.norm * self.norms - self.noise * self.variances / (2.0 * self.batch_size))
