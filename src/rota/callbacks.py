"""What is notified while a run is in progress: progress bars, trackers, pruners."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rota.runlog import Run
from rota.settings import Settings

if TYPE_CHECKING:
    from rota.tasks import Task

__all__ = ["Callback", "RunStart"]


@dataclass(frozen=True)
class RunStart:
    """What is known when a run begins or goes on.

    Args:
        folder: Of the run.
        tasks: All of them.
        settings: With nothing left open.
        done: Updates that were made before.
        captures: Says how many pieces of work have been captured so far.

    >>> RunStart(Path("runs/a"), tasks=(), settings=Settings(steps=50), done=10, captures=lambda: 0).settings.steps
    50
    """

    folder: Path
    tasks: Sequence[Task]
    settings: Settings
    done: int
    captures: Callable[[], int]


class Callback:
    """Hears what happens in a run. Write the methods that you need; nobody is called who does not.

    In several processes the callbacks of the first one alone are called.

    >>> class Printing(Callback):
    ...     def on_step(self, done):
    ...         print(f"{done} updates")
    >>> Printing().on_step(10)
    10 updates
    """

    def on_start(self, start: RunStart) -> None:
        """Training begins, or goes on after a resume."""

    def on_step(self, done: int) -> None:
        """This number of updates is done."""

    def on_line(self, line: Mapping[str, Any]) -> None:
        """A line of the log, as `rota.runlog` describes it; that of a step comes when its loss is read."""

    def on_evaluate(self, done: int, evaluation: Mapping[str, Any], mixture: Mapping[str, float]) -> str | None:
        """An evaluation, and the share of the coming turns of each task. A word ends the run: it is the reason."""

    def on_notice(self, sentence: str) -> None:
        """Something that a person should know."""

    def on_end(self, run: Run) -> None:
        """The run is finished; its folder holds everything."""
