"""All callbacks of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rota.callbacks import Callback, RunStart
from rota.runlog import Run


class Callbacks(Callback):
    """Several callbacks as one; those that do not write a method cost nothing."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        def who(method: str) -> list[Any]:
            heard = [one for one in callbacks if getattr(type(one), method) is not getattr(Callback, method)]
            return [getattr(one, method) for one in heard]

        self._starts, self._ends, self._notices = who("on_start"), who("on_end"), who("on_notice")
        self._evaluations = who("on_evaluate")
        self.steps, self.lines = who("on_step"), who("on_line")

    def on_start(self, start: RunStart) -> None:
        for hear in self._starts:
            hear(start)

    def on_evaluate(self, done: int, evaluation: Mapping[str, Any], mixture: Mapping[str, float]) -> str | None:
        reasons = [hear(done, evaluation, mixture) for hear in self._evaluations]
        return next((reason for reason in reasons if reason), None)

    def on_notice(self, sentence: str) -> None:
        for hear in self._notices:
            hear(sentence)

    def on_end(self, run: Run) -> None:
        for hear in self._ends:
            hear(run)
