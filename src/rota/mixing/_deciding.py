"""One decision after the other: what is due is heard before each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rota.mixing._dealing import Dealing
from rota.mixing._decision import Decision, Heard, Means
from rota.mixing._drawing import Drawing
from rota.mixing._hearing import Hearing
from rota.mixing._open_decisions import OpenDecisions
from rota.mixing._stream_rows import StreamReaders
from rota.mixing._wrong_use import never_heard, not_told

DEAF = 1000
"""Updates after which a policy that has heard nothing of what it listens to is refused."""


class Deciding:
    """Decision n is drawn when it is asked for, after the policy has heard of the decisions 0 … n − 1 − lag.

    Args:
        drawing: Draws.
        hearing: Delivers what was told.
        dealing: How many batches a decision has.
        lag: Decisions between a decision and the last one that it has heard of.
        quiet: Whether no feedback is meant to come.
        summed: Whether losses are summed over processes.
        streams: Keep rows until they were trained on.
    """

    def __init__(
        self,
        drawing: Drawing,
        hearing: Hearing,
        dealing: Dealing,
        lag: int,
        quiet: bool,
        summed: bool,
        streams: StreamReaders | None,
    ) -> None:
        self._drawing, self._hearing, self._dealing, self._lag = drawing, hearing, dealing, lag
        self._quiet, self._summed, self._streams = quiet, summed, streams
        self.open = OpenDecisions(dealing)
        self._finished = 0  # batches until the end of an iteration that was not broken off

    def hand_out(self, place: int) -> tuple[Decision, int]:
        """The decision of a batch, drawn if need be, and the batch's place in it."""
        number, batch = divmod(place, self._dealing.handed_out)
        while self.open.drawn <= number:
            self.draw()
        return self.open.hand_out(place), batch

    def finish(self, place: int) -> None:
        """An iteration has come to its end there."""
        self._finished = place

    def forget_finished(self) -> None:
        """Where the policy hears nothing, nobody has to tell: an iteration that went to its end was trained on."""
        while not self._hearing.listens and len(self.open) and self.open.first_untold < self._finished:
            self.skip()

    def draw(self) -> None:
        """One decision more."""
        drawn = self.open.drawn
        self._hear(drawn - self._lag)
        self.open.add(self._drawing.draw(drawn))

    def draw_ahead(self) -> int:
        """Draw what a loader may have drawn by now, and return the number of the next decision. What is changed then
        holds from that one on, however far a loader has really read."""
        until = self._hearing.told + self._lag + self.open.is_begun if self.open.drawn else 0
        while self.open.drawn < until:
            self.draw()
        return self.open.drawn

    def _hear(self, until: int) -> None:
        """Let the policy hear of the first `until` decisions."""
        hearing, drawn = self._hearing, self.open.drawn
        if hearing.told < until and hearing.listens:
            raise not_told(self.open.current, drawn, until, self._lag, drawn - hearing.told)
        while hearing.told < until:
            self.skip()
        hearing.deliver(until, drawn)
        somebody = hearing.listens or self._quiet or hearing.observed
        if drawn == DEAF and self._drawing.policy.hears and not somebody:
            raise never_heard(self._drawing.policy, DEAF)

    def note(self, decision: Decision, batch: int, heard: Heard) -> None:
        """What was told of a batch of a decision."""
        decision.told[batch] = heard
        for done in self.open.take_told():
            self._hearing.add(done, Means(done.told.values(), done.tasks, self._summed and not done.reduced))
            if self._streams is not None:
                self._streams.forget(done.step)

    def skip(self, number: int | None = None) -> None:
        """Nothing is heard of a batch; of the oldest one for None."""
        self.note(*self.open.waiting(number), {})

    @property
    def in_use(self) -> set[str]:
        """Tasks of decisions that were not yet trained on, or of which the log does not know yet."""
        return self.open.tasks | self._hearing.tasks

    def state_dict(self) -> dict[str, Any]:
        left = self._drawing.sizes_of_left(self.in_use)
        return {
            "policy": self._drawing.policy.state_dict(),
            "draws": self._drawing.state_dict(),
            "open": self.open.state_dict(),
            "hearing": self._hearing.state_dict(),
            **({"left": left} if left else {}),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._drawing.policy.load_state_dict(state["policy"])
        self._drawing.load_state_dict(state["draws"], state.get("left", {}))
        self._hearing.load_state_dict(state["hearing"])
        self.open.load_state_dict(state["open"])
        self._finished = 0
