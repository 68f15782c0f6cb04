"""What a person sees while a run goes on."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from rota.callbacks import Callback, RunStart
from rota.tasks import Task


class ProgressBar(Callback):
    """Step, speed, average score and current mixture: a live bar on a terminal, a line per evaluation elsewhere.

    Where rows are picked from a pool, the mixture says what was offered. Shown is what was picked since the last
    evaluation, as shares of the rows.

    In a notebook lines go to the output of the cell as plain text: its stderr is red, it says that it is a terminal
    though it cannot move its cursor, and rich would make a block of HTML of each line.
    """

    EVERY = 0.1  # seconds between two drawings
    COUNTED = 40  # tasks of which each has a line of what was cut
    TASKS = 6  # tasks of the mixture that fit into the line: the largest

    def __init__(self) -> None:
        notebook = Console().is_jupyter
        self._picked: Counter[str] = Counter()  # rows of each task
        self._console = Console(stderr=not notebook, force_jupyter=False, force_terminal=False if notebook else None)
        self._live = self._console.is_terminal
        self._bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,}/{task.total:,}"),
            TextColumn("{task.fields[speed]} · {task.fields[score]} · {task.fields[mixture]}"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )

    def __enter__(self) -> Self:
        if self._live:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._bar.stop()

    def on_start(self, start: RunStart) -> None:
        """Begin, and say what the readers of the tasks have cut or left out."""
        self._title, self._start, self._captures = start.folder.name, start.done, start.captures
        self._steps = start.settings.steps
        self._began = self._drawn = time.perf_counter()
        self._line = self._bar.add_task(
            escape(self._title), total=self._steps, completed=start.done, speed="", score="", mixture=""
        )
        for notice in counted_notices(start.tasks):
            self.on_notice(notice)

    def on_step(self, done: int) -> None:
        if self._live and time.perf_counter() - self._drawn > self.EVERY:
            self._drawn = time.perf_counter()
            self._bar.update(self._line, completed=done, speed=self._speed(done))

    def on_evaluate(self, done: int, evaluation: Mapping[str, Any], mixture: Mapping[str, float]) -> str | None:
        average = evaluation["average"]
        score = "average –" if average is None else f"average {100 * average:.1f}"
        if evaluation["loss"] is not None and any("tokens" in own for own in evaluation["tasks"].values()):
            score = f"loss {evaluation['loss']:.3f}"  # what is said of language models
        picked, self._picked = self._picked, Counter()
        shares = {task: picked[task] / picked.total() for task in mixture} if picked.total() else mixture
        largest = sorted(shares, key=lambda task: -shares[task])[: self.TASKS]
        shown = " ".join(f"{task} {share:.0%}" for task, share in shares.items() if task in largest)
        shown = f"{'picked ' if picked.total() else ''}{shown}{' …' if len(shares) > self.TASKS else ''}"
        if self._live:
            self._bar.update(self._line, completed=done, speed=self._speed(done), score=score, mixture=escape(shown))
        else:
            line = f"{self._title}  step {done}/{self._steps} · {self._speed(done)} · {score} · {shown}"
            self._console.print(line, highlight=False, markup=False, soft_wrap=True)
        return None

    def on_line(self, line: Mapping[str, Any]) -> None:
        """Count what was picked, and say which branches of a round could not be used."""
        for task, own in line["tasks"].items() if line["kind"] == "pool" else ():
            self._picked[task] += own["picked"]
        for task in line["diverged"] if line["kind"] == "round" else ():
            self.on_notice(
                f"round {line['round']}: the branch of '{task}' broke (a loss was not a number), and is left out"
            )

    def on_notice(self, sentence: str) -> None:
        self._console.print(sentence, style="dim", highlight=False, markup=False, soft_wrap=True)

    def _speed(self, done: int) -> str:
        speed = (done - self._start) / max(time.perf_counter() - self._began, 1e-9)
        captured = f" · {self._captures()} graphs" if self._captures() else ""
        return f"{speed:,.{0 if speed >= 10 else 1}f} steps/s{captured}"


def counted_notices(tasks: Sequence[Task]) -> Iterator[str]:
    """What readers have cut or left out: a line for each task and split, or for each split where tasks are many.

    >>> from rota.data import load_tasks
    >>> list(counted_notices(load_tasks(["digits"])))
    []
    """
    if len(tasks) <= ProgressBar.COUNTED:
        for task in tasks:
            for split, counts in task.notes.get("counted", {}).items():
                yield f"{task.name}: {_counts(counts)} of {task.size(split):,} {split} rows"
        return
    for split in dict.fromkeys(split for task in tasks for split in task.splits):
        total: Counter[str] = Counter()
        for task in tasks:
            total.update(task.notes.get("counted", {}).get(split, {}))
        if total:
            rows = sum(task.size(split) for task in tasks)
            yield f"{len(tasks)} tasks: {_counts(total)} of {rows:,} {split} rows"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
