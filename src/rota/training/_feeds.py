"""All sources of a run while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from rota.engine import AfterUpdate
from rota.evaluation import RunAccess
from rota.policies import Policy
from rota.sources import Feed, Moment, Said, Source
from rota.turns import own_time

Ask = tuple[str, Callable[[Moment], Said | None]]
"""What a source says, and how to ask for it."""


class Feeds:
    """Opens the sources of a run, asks them in their order, and tells the policy what it hears.

    What a source says that the policy does not hear is measured and logged all the same.

    Args:
        sources: With nothing left open.
        policy: Hears.
        run: What they may use.
    """

    def __init__(self, sources: Sequence[Source], policy: Policy, run: RunAccess) -> None:
        self._sources, self._policy = sources, policy
        self._feeds = [source.open(run) for source in sources]
        self.after_update: AfterUpdate | None = None
        self.word: str | None = None
        for source, feed in zip(sources, self._feeds, strict=True):
            if source.each_step:
                self.after_update, self.word = feed.after_update, source.says
        self._at_evaluation, self.at_step_end = self._who("at_evaluation"), self._who("at_step_end")
        self.seconds = 0.0
        """How long it took to ask all of them."""

    def _who(self, method: str) -> list[Ask]:
        """Those who have something to say at this moment."""
        pairs = zip(self._sources, self._feeds, strict=True)
        return [(s.says, getattr(f, method)) for s, f in pairs if getattr(type(f), method) is not getattr(Feed, method)]

    def evaluated(self, moment: Moment) -> list[dict[str, Any]]:
        """There was an evaluation; lines for the log."""
        return self._hear(self._at_evaluation, moment)

    def stepped(self, moment: Moment) -> list[dict[str, Any]]:
        """A step is over; lines for the log. Not to be called where `at_step_end` is empty."""
        return self._hear(self.at_step_end, moment)

    def _hear(self, asked: Sequence[Ask], moment: Moment) -> list[dict[str, Any]]:
        began, lines = own_time(), []
        for word, ask in asked:
            said = ask(moment)
            if said is None:
                continue
            words = self._policy.hears
            for feedback in said.feedback:
                if words is None or (feedback.about or word) in words:
                    self._policy.observe(feedback)
            if said.line is not None:
                mixture = {"mixture": self._policy.expected_shares(moment.done)} if said.mixture else {}
                lines.append({**said.line, **mixture})
        self.seconds += own_time() - began
        return lines

    def describe(self) -> list[dict[str, Any]]:
        return [source.describe() for source in self._sources]

    def state_dict(self) -> dict[str, Any]:
        return {"feeds": [feed.state_dict() for feed in self._feeds], "seconds": self.seconds}

    def carried(self, state: dict[str, Any], tasks: Collection[str]) -> dict[str, Any]:
        """The state of the feeds of a run with other tasks, of which `tasks` stay."""
        own = [feed.carried(before, tasks) for feed, before in zip(self._feeds, state["feeds"], strict=True)]
        return {**state, "feeds": own}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for feed, own in zip(self._feeds, state["feeds"], strict=True):
            feed.load_state_dict(own)
        self.seconds = state["seconds"]
