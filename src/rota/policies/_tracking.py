"""Sample tasks in proportion to a number that surveys measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rota.arrays import Floats
from rota.errors import RotaError
from rota.feedback import Feedback
from rota.limits import Share
from rota.policies._base import Policy

GUESSED = -1  # instead of how often a newcomer was measured: its value is a guess


class Tracking(Policy):
    """Prefers tasks the model is uncertain about: the policy of Fang & Alqatari, section 3.

    Surveys measure an uncertainty u of every task; with the moving average

        v(k) ← γ v(k) + (1 - γ) u(k),   π(k) = v(k) / Σ_j v(j).                              (eq. 1)

    Until every task was measured once, and wherever all measure zero, tasks are drawn uniformly. The first measurement
    of a task is its v.

    Args:
        tasks: Names of the tasks.
        gamma: Smoothing factor γ: 0 follows the last survey, 1 stays with the first.
        form: "prose", as above and as the paper's text says; "printed", with γ and 1 - γ exchanged, as its equation
            does. With γ = 1/2 they are the same.

    >>> policy = Tracking(["rte", "mrpc", "sst2"], gamma=0.5)
    >>> for task, uncertainty in {"rte": 0.4, "mrpc": 0.4, "sst2": 0.2}.items():
    ...     policy.observe(Feedback(task, uncertainty))
    >>> policy.probabilities(step=200)
    array([0.4, 0.4, 0.2])

    Reference:
        F. Fang and A. Alqatari, Multi-task Learning for Natural Language Understanding with Active Task Prioritization
        using Task-Specific Model Uncertainty.

    Where this differs from the paper:
        A measurement below zero counts as zero. What is measured, and when, is not its business: see `Survey`.
    """

    hears: tuple[str, ...] | None = ("uncertainty",)
    state: ClassVar = ("values", "measured")

    def __init__(self, tasks: Sequence[str], gamma: Share = 0.5, form: Literal["prose", "printed"] = "prose") -> None:
        super().__init__(tasks)
        if not 0 <= gamma <= 1:
            raise RotaError(f"Tracking expects gamma between 0 and 1. Found {gamma}.")
        if form not in ("prose", "printed"):
            raise RotaError(f"Tracking expects the form 'prose' or 'printed'. Found '{form}'.")
        self._past = gamma if form == "prose" else 1.0 - gamma
        self.values: Floats = np.zeros(len(self.tasks))
        self.measured = np.zeros(len(self.tasks), dtype=np.int64)

    def probabilities(self, step: int) -> Floats:
        values: Floats = np.maximum(self.values, 0.0)
        top = values.max()
        if not (self.measured.all() and top > 0):
            return np.full(len(self.tasks), 1.0 / len(self.tasks))
        values /= top  # sums of the largest numbers would overflow
        values /= values.sum()
        return values

    def learn(self, k: int, feedback: Feedback) -> None:
        past = self._past if self.measured[k] > 0 else 0.0
        self.values[k] = past * self.values[k] + (1.0 - past) * feedback.value
        self.measured[k] = max(self.measured[k], 0) + 1

    def welcome(self, stays: NDArray[np.bool_]) -> None:
        """Where all others were measured, newcomers stand at their mean until they are."""
        if self.measured[stays].all():
            top = max(float(np.abs(self.values[stays]).max()), 1e-300)
            self.values[~stays] = (self.values[stays] / top).mean() * top
            self.measured[~stays] = GUESSED
