"""What the training losses of all tasks say about how well each is learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from rota.arrays import Floats
from rota.curves import Bank, History, PassBoundaries

FIRST = 10  # losses whose mean stands for an untrained model
LARGEST = 1e6  # of a loss: what is larger says no more
LEAST_HEARD = 32  # visits that are heard however small a data set is
TEACHES, MEMORISES = 0.25, 0.5  # of a fall that is memory: shares up to which rows that come again teach, and do not

ScoreForm = Literal["skill", "likelihood"]
Guard = Literal["measured", "always", "never"]


class Losses:
    """Training losses in memory of fixed size, as scores: learning curves, who memorises, who falls back.

    Args:
        tasks: Names of the tasks.
        batches: Visits in a pass over each task's rows; None: nobody knows, and nobody is guarded against memorising.
        references: The loss that stands for a skill of zero; not a number where it is that of the first visits.
        score: "skill", 1 - L / reference, or "likelihood", exp(-L).
        guard: Whether somebody memorises: "measured", "always", or "never".
        max_heard_passes: Passes after which the losses of a task that is memorised are not heard.
    """

    def __init__(
        self,
        tasks: Sequence[str],
        batches: Floats | None,
        references: Floats,
        score: ScoreForm,
        guard: Guard,
        max_heard_passes: float,
    ) -> None:
        lengths = np.zeros(len(tasks)) if batches is None else batches  # 0: nobody knows
        self._tasks, self._given, self._score = tuple(tasks), references, score
        self._guard: Guard = "never" if batches is None else guard
        self._heard_visits = np.maximum(LEAST_HEARD, np.floor(max_heard_passes * lengths))
        self._history, self._early = History(tasks), History(tasks)
        self._pass_boundaries = PassBoundaries(tasks, lengths)
        self._first: Floats = np.zeros(len(tasks))

    @property
    def visits(self) -> Floats:
        """Of each task."""
        return self._history.visits

    def add(self, k: int, loss: float) -> None:
        """One more visit of task number `k`."""
        loss = min(max(loss, -LARGEST), LARGEST)
        if self.visits[k] < FIRST:
            self._first[k] += loss
        self._history.add(k, loss if self._score == "skill" else float(np.exp(-max(loss, 0.0))))
        self._pass_boundaries.add(k, loss)
        if self.visits[k] == self._heard_visits[k]:
            self._early.take(k, self._history)

    def curves(self, memorised: Floats) -> tuple[Bank, Floats]:
        """The learning curves of all tasks, of which some are `memorised`, and the standard errors of their rises."""
        deaf = (memorised > 0.5) & (self.visits > self._heard_visits)
        heard = self._history.but(self._early, deaf) if deaf.any() else self._history
        return heard.fitted(*self._to_scores())

    def memorised(self) -> Floats:
        """How far each task is guarded against memorising: 0 not at all, 1 wholly."""
        if self._guard != "measured":
            return np.full(len(self._tasks), float(self._guard == "always"))
        noise = self._history.noise()
        if self._score == "likelihood":
            noise = noise * self.references  # nearly: exp(-L) falls by the share of itself by which L rises
        shares = self._pass_boundaries.shares(self.references, noise)
        return np.clip((shares - TEACHES) / (MEMORISES - TEACHES), 0.0, 1.0)

    def fallen(self) -> Floats:
        """How far each task is below its own best, 0 where it may be chance."""
        return self._history.fallen(*self._to_scores())

    @property
    def references(self) -> Floats:
        """The loss that stands for a skill of zero."""
        seen = self._first / np.maximum(np.minimum(self.visits, FIRST), 1.0)
        found = np.where(np.isfinite(self._given), self._given, seen)
        return np.where(found > 0, found, 1.0)

    def _to_scores(self) -> tuple[Floats | float, Floats | float]:
        """A score is a start and a slope times what the history has."""
        return (1.0, -1.0 / self.references) if self._score == "skill" else (0.0, 1.0)

    def state_dict(self) -> dict[str, Any]:
        return {
            "first": dict(zip(self._tasks, self._first.tolist(), strict=True)),
            **{name: part.state_dict() for name, part in self._parts().items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._first[:] = [state["first"][task] for task in self._tasks]
        for name, part in self._parts().items():
            part.load_state_dict(state[name])

    def _parts(self) -> Mapping[str, History | PassBoundaries]:
        return {"history": self._history, "early": self._early, "borders": self._pass_boundaries}
