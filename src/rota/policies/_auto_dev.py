"""The same plan, from dev scores where there are any."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rota.arrays import Floats
from rota.curves import ALL, Bank, History, Places
from rota.feedback import Feedback
from rota.policies._auto import Auto

ENOUGH = 5  # evaluations that a curve needs


class AutoDev(Auto):
    """`Auto` that also hears dev scores. From its fifth evaluation on, the curve of a task is fitted to its dev scores
    instead of its training losses, so overfitting needs no correction.

    It hears the loss of each batch as `Auto` does, and dev scores without a probability:
    `policy.observe(Feedback(task, score, about="score"))`. Feedback that does not say what it is about is a score
    where it has no probability, and a loss where it has one. Scores are at most 1. Do not report scores on the same dev
    rows: they have decided about the training. Arguments are those of `Auto`.

    >>> policy = AutoDev(["rte", "mrpc"], horizon=1000)
    >>> policy.observe(Feedback("rte", 0.53, about="score"))
    >>> policy.probabilities(step=0)
    array([0.5, 0.5])
    """

    hears: tuple[str, ...] | None = ("loss", "score")
    state: ClassVar[tuple[str, ...]] = (*Auto.state, "scores", "places")

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.scores, self.places = History(self.tasks), History(self.tasks)

    def learn(self, k: int, feedback: Feedback) -> None:
        about = feedback.about or ("score" if feedback.probability is None else "loss")
        if about == "loss":
            super().learn(k, feedback)
            return
        self.scores.add(k, min(max(feedback.value, -1.0), 1.0))
        self.places.add(k, float(self.losses.visits[k]))

    def _curves(self, memorised: Floats, rows: Places = ALL) -> tuple[Bank, Floats]:
        bank, unsure = super()._curves(memorised, rows)
        own, own_unsure = self.scores.part(rows).fitted(places=self.places.part(rows))
        return bank.but(own, self._scored[rows]), np.where(self._scored[rows], own_unsure, unsure)

    def memorised(self) -> Floats:
        return np.where(self._scored, 0.0, super().memorised())

    @property
    def _scored(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return np.asarray(self.scores.visits >= ENOUGH)
