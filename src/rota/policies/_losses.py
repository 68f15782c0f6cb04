"""What the training losses of all tasks say about how well each is learned."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from rota.arrays import Floats, from_json, to_json
from rota.curves import ALL, Bank, History, PassBoundaries, Places

FIRST = 10  # losses whose mean stands for an untrained model
LARGEST = 1e6  # of a loss: what is larger says no more
LEAST_HEARD = 32  # visits that are heard however small a data set is
TEACHES, MEMORISES = 0.25, 0.5  # of a fall that is memory: shares up to which rows that come again teach, and do not

ScoreForm = Literal["skill", "likelihood"]
Guard = Literal["measured", "always", "never"]


class Losses:
    """Training losses in memory of fixed size, as scores: learning curves, overfitting, tasks that get worse.

    Args:
        tasks: Names of the tasks.
        batches: Visits in a pass over each task's rows; None: unknown, so overfitting is not measured.
        references: The loss that stands for a skill of zero; not a number where it is that of the first visits.
        score: "skill", 1 - L / reference, or "likelihood", exp(-L).
        guard: Whether tasks overfit: "measured", "always", or "never".
        max_heard_passes: Passes after which the losses of an overfitted task are ignored.
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

    def part(self, rows: Places) -> Losses:
        """Those of some of the tasks, to be read."""
        if rows is ALL:
            return self
        found = copy.copy(self)
        found._given, found._first = self._given[rows], self._first[rows]
        found._heard_visits = self._heard_visits[rows]
        found._history, found._early = self._history.part(rows), self._early.part(rows)
        return found

    def add(self, k: int, loss: float) -> None:
        """One more visit of task number `k`."""
        loss = min(max(loss, -LARGEST), LARGEST)
        if self.visits[k] < FIRST:
            self._first[k] += loss
        self._history.add(k, loss if self._score == "skill" else float(np.exp(-max(loss, 0.0))))
        self._pass_boundaries.add(k, loss)
        if self.visits[k] == self._heard_visits[k]:
            self._early.take(k, self._history)

    def score(self, k: int, loss: float) -> float:
        """A loss of task number `k` as a score, as far as its reference is known."""
        if self._score == "likelihood":
            return float(np.exp(-min(max(loss, 0.0), LARGEST)))
        seen = self._first[k] / max(min(self.visits[k], FIRST), 1.0)
        reference = self._given[k] if np.isfinite(self._given[k]) else seen
        return max(1.0 - loss / reference if reference > 0 else -LARGEST, -LARGEST)

    def curves(self, memorised: Floats) -> tuple[Bank, Floats]:
        """The learning curves of all tasks, of which some are `memorised`, and the standard errors of their rises."""
        deaf = (memorised > 0.5) & (self.visits > self._heard_visits)
        heard = self._history.but(self._early, deaf) if deaf.any() else self._history
        return heard.fitted(*self._to_scores())

    def memorised(self) -> Floats:
        """How much each task overfits: 0 not at all, 1 fully."""
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

    def take_over(self, old: Losses) -> None:
        """Remember of the tasks that stay what the losses of another set of tasks say."""
        place = {task: k for k, task in enumerate(old._tasks)}
        for k, task in enumerate(self._tasks):
            if task in place:
                self._first[k] = old._first[place[task]]
        for name, part in self._parts().items():
            part.take_over(old._parts()[name])  # type: ignore[arg-type]

    def state_dict(self) -> dict[str, Any]:
        return {
            "first": to_json(self._tasks, self._first),
            **{name: part.state_dict() for name, part in self._parts().items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._first[:] = from_json(self._tasks, state["first"], np.float64)
        for name, part in self._parts().items():
            part.load_state_dict(state[name])

    def _parts(self) -> Mapping[str, History | PassBoundaries]:
        return {"history": self._history, "early": self._early, "borders": self._pass_boundaries}
