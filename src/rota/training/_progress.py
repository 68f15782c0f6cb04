"""What a person sees while a run goes on."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from rota.tasks import Task


class ProgressBar:
    """Step, speed, average score and current mixture: a live bar on a terminal, a line per evaluation elsewhere."""

    EVERY = 0.1  # seconds between two drawings
    TASKS = 6  # tasks of the mixture that fit into the line: the largest

    def __init__(self, title: str, steps: int, start: int, shown: bool = True) -> None:
        self._console = Console(stderr=True)
        self._live = shown and self._console.is_terminal
        self._plain = shown and not self._live
        self._title, self._steps, self._start = title, steps, start
        self._began = self._drawn = time.perf_counter()
        self._captures, self._reasons = 0, set[str]()
        self._bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,}/{task.total:,}"),
            TextColumn("{task.fields[speed]} · {task.fields[score]} · {task.fields[mixture]}"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._line = self._bar.add_task(escape(title), total=steps, completed=start, speed="", score="", mixture="")

    def __enter__(self) -> Self:
        if self._live:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._bar.stop()

    def noticed(self, tasks: Sequence[Task]) -> None:
        """Say what the readers of the tasks have cut or left out."""
        for task in tasks:
            for split, counts in task.notes.get("counted", {}).items():
                said = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
                self._say(f"{task.name}: {said} of {task.size(split):,} {split} rows")

    def uncaptured(self, reason: str | None) -> None:
        """Say, once, why steps are not executed as they were to be."""
        if reason is not None and reason not in self._reasons:
            self._reasons.add(reason)
            self._say(f"engine: {reason}")

    def step(self, done: int, captures: int) -> None:
        """So many steps are done; so many pieces of work were captured so far."""
        self._captures = captures
        if self._live and time.perf_counter() - self._drawn > self.EVERY:
            self._drawn = time.perf_counter()
            self._bar.update(self._line, completed=done, speed=self._speed(done))

    def evaluated(self, done: int, average: float | None, mixture: Mapping[str, float]) -> None:
        """An evaluation after so many steps."""
        score = "average –" if average is None else f"average {100 * average:.1f}"
        largest = sorted(mixture, key=lambda task: -mixture[task])[: self.TASKS]
        shown = " ".join(f"{task} {share:.0%}" for task, share in mixture.items() if task in largest)
        shown += " …" if len(mixture) > self.TASKS else ""
        if self._live:
            self._bar.update(self._line, completed=done, speed=self._speed(done), score=score, mixture=escape(shown))
        elif self._plain:
            line = f"{self._title}  step {done}/{self._steps} · {self._speed(done)} · {score} · {shown}"
            self._console.print(line, highlight=False, markup=False, soft_wrap=True)

    def told(self, notice: str | None) -> None:
        """Say something about the whole run."""
        if notice is not None:
            self._say(notice)

    def decided(self, line: Mapping[str, Any]) -> None:
        """A round is over; say which branches could not be used."""
        for task in line["diverged"]:
            self._say(f"round {line['round']}: the branch of '{task}' broke (a loss was not a number), and is left out")

    def _speed(self, done: int) -> str:
        speed = (done - self._start) / max(time.perf_counter() - self._began, 1e-9)
        captured = f" · {self._captures} graphs" if self._captures else ""
        return f"{speed:,.{0 if speed >= 10 else 1}f} steps/s{captured}"

    def _say(self, line: str) -> None:
        if self._live or self._plain:
            self._console.print(line, style="dim", highlight=False, markup=False, soft_wrap=True)
