"""The same plan, from dev scores where somebody has them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rota.arrays import Floats
from rota.curves import Bank, History
from rota.feedback import Feedback
from rota.policies._auto import Auto

ENOUGH = 5  # evaluations that a curve needs


class AutoDev(Auto):
    """`Auto` that also hears dev scores: from its fifth evaluation on, a task's curve is that of its scores over its
    visits, in the unit that counts. Whether rows are memorised is in them already.

    It hears the loss of each batch as `Auto` does, and scores as a survey, which nobody chose:
    `policy.observe(Feedback(task, score, about="score"))`. Feedback that does not say what it is about is a score
    where it has no probability, and a loss where it has one. Scores are at most 1. Whoever reports the same dev rows
    should know that they have decided about the training. Arguments are those of `Auto`.

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

    def _curves(self, memorised: Floats) -> tuple[Bank, Floats]:
        bank, unsure = super()._curves(memorised)
        own, own_unsure = self.scores.fitted(places=self.places)
        return bank.but(own, self._scored), np.where(self._scored, own_unsure, unsure)

    def memorised(self) -> Floats:
        return np.where(self._scored, 0.0, super().memorised())

    @property
    def _scored(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return np.asarray(self.scores.visits >= ENOUGH)
