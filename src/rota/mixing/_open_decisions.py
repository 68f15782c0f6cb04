"""Decisions that were drawn, and of which not everything was told yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rota.errors import RotaError
from rota.feedback import Choice
from rota.mixing._dealing import Dealing
from rota.mixing._decision import Decision


class MixBatch(NamedTuple):
    """A batch that was handed out and not told of yet.

    Args:
        number: Counted from the very first.
        task: Whose rows; None where they are of several tasks.
        choice: What the policy drew, and how likely that was; None where nobody was chosen.

    >>> MixBatch(number=0, task="rte", choice=None).task
    'rte'
    """

    number: int
    task: str | None
    choice: Choice | None


class OpenDecisions:
    """In the order in which they were drawn.

    Args:
        dealing: How many batches a decision has.

    Attributes:
        drawn: Decisions so far.
    """

    def __init__(self, dealing: Dealing) -> None:
        self._dealing = dealing
        self._open: deque[Decision] = deque()
        self.drawn = 0
        self._handed = 0  # batches of this process

    def __len__(self) -> int:
        return len(self._open)

    @property
    def steps(self) -> list[int]:
        return [decision.step for decision in self._open]

    @property
    def tasks(self) -> set[str]:
        return {task for decision in self._open for task in decision.tasks}

    @property
    def is_begun(self) -> bool:
        """Whether a part of the oldest decision was told of."""
        return bool(self._open and self._open[0].told)

    def add(self, decision: Decision) -> None:
        self._open.append(decision)
        self.drawn += 1

    def hand_out(self, place: int) -> Decision:
        """The decision of a batch, by its place among all that are handed out."""
        number = place // self._dealing.handed_out
        index = number - (self.drawn - len(self._open))
        if index < 0:
            raise RotaError(f"Update {number} was told of before its batches were handed out. Begin a new iteration.")
        self._handed = max(self._handed, place // self._dealing.together + 1)
        return self._open[index]

    @property
    def first_untold(self) -> int:
        """The place of the first batch that training has not come to, among all that are handed out."""
        told = self._untold(self._open[0]) if self._open else 0
        return (self.drawn - len(self._open)) * self._dealing.handed_out + told * self._dealing.together

    def _untold(self, decision: Decision) -> int:
        return next(batch for batch in range(self._dealing.accumulation) if batch not in decision.told)

    @property
    def current(self) -> MixBatch:
        """The oldest batch that was not told of."""
        decision, batch = self._oldest()
        number = decision.step * self._dealing.accumulation + batch
        return MixBatch(number, decision.choice.task if decision.choice else None, decision.choice)

    def _oldest(self) -> tuple[Decision, int]:
        if not self._open:
            raise RotaError(
                "Expected a batch that was handed out and not told of yet. Found none: call tell once for each batch."
            )
        return self._open[0], self._untold(self._open[0])

    def waiting(self, number: int | None) -> tuple[Decision, int]:
        """The decision of a batch that may be told of, and the batch's place in it; of the oldest one for None."""
        decision, batch = self._oldest() if number is None else self._named(number)
        if decision.step * self._dealing.accumulation + batch >= self._handed:
            raise self._not_handed_out()
        return decision, batch

    def _named(self, number: int) -> tuple[Decision, int]:
        step, batch = divmod(number, self._dealing.accumulation)
        index = step - (self.drawn - len(self._open))
        if index >= len(self._open):
            raise self._not_handed_out()
        if index < 0 or batch in self._open[index].told:
            raise RotaError(f"mix.tell expects to hear of each batch once. Found batch {number} for the second time.")
        return self._open[index], batch

    def _not_handed_out(self) -> RotaError:
        return RotaError(
            f"mix.tell expects a batch that was handed out. Found {self._handed} of them, each told of. Call it once "
            f"for each batch."
        )

    def take_told(self) -> Iterator[Decision]:
        """The oldest decisions, as far as everything about them was told; they are not open any more."""
        while self._open and len(self._open[0].told) == self._dealing.accumulation:
            yield self._open.popleft()

    def state_dict(self) -> dict[str, Any]:
        return {"drawn": self.drawn, "decisions": [decision.plain() for decision in self._open]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.drawn = state["drawn"]
        self._open = deque(Decision.from_plain(decision) for decision in state["decisions"])
        self._handed = self.first_untold // self._dealing.together
