"""What `--dry-run` prints: what would be trained, and what it would cost."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from rota.cli._console import open_console, tell
from rota.cli._tables import print_whole
from rota.errors import RotaError
from rota.plans import Plan
from rota.pretraining import contamination

if TYPE_CHECKING:
    from rota.runs import Forecast

DryRun = Annotated[bool, typer.Option("--dry-run", help="show what would be trained and what it costs; train nothing")]
"""The flag."""
SPLITS = ("train", "dev", "test")
BUSY = 1.5
"""How much longer all takes than on an idle machine where that is worth saying."""


@dataclass(frozen=True)
class Trainings:
    """Trainings that cost the same.

    Args:
        name: What they are called.
        plan: Of the first of them.
        runs: How many are not finished.
    """

    name: str
    plan: Plan
    runs: int = 1


def show_run(plan: Plan, folder: Path) -> None:
    """Everything about one run, and what it would cost."""
    began = time.perf_counter()
    found, console = _forecast(plan.method, plan), open_console()
    loading = time.perf_counter() - began - found.asked_seconds
    found = replace(found, ready_seconds=found.ready_seconds + loading)  # the run has to load torch, too
    print_whole(console, _tasks(found))
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for name, told in [*_what(found), *_costs(found), ("folder", f"{folder}, not made")]:
        table.add_row(name, escape(told))
    console.print(table)
    console.print("Nothing was trained. Leave --dry-run out to train it.", highlight=False)


def show_runs(planned: Sequence[Trainings], folder: Path, jobs: int = 1) -> None:
    """What each of several trainings would cost, and all of them together.

    Args:
        planned: What there is to train.
        folder: Where.
        jobs: Runs at a time.
    """
    found: dict[str, Forecast | RotaError] = {}
    for own in planned:
        try:
            found[own.name] = _forecast(own.name, own.plan)
        except RotaError as error:  # as in a comparison itself, the others go on
            found[own.name] = error
    console = open_console()
    known = {name: own for name, own in found.items() if not isinstance(own, RotaError)}
    if not known:
        raise next(own for own in found.values() if isinstance(own, RotaError))
    print_whole(console, _tasks(next(iter(known.values()))))
    print_whole(console, _table(planned, found))
    said = [f"{name}: {error}" for name, error in found.items() if isinstance(error, RotaError)]
    said += [f"{name}, first {line}" for name, forecast in known.items() for line in _first(forecast)]
    for line in said:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    runs = [known[own.name] for own in planned if own.name in known for _ in range(own.runs)]
    disk = size_told(sum(own.total_bytes for own in runs))
    seconds = together([own.total_seconds for own in runs], runs, jobs)
    alone = together([own.total_alone_seconds for own in runs], runs, jobs)
    count = f"{len(runs)} run{'' if len(runs) == 1 else 's'}, {jobs} at a time"
    console.print(f"{count}: {_span(seconds, alone)}; {disk} on the disk.", highlight=False)
    console.print(f"Nothing was trained. Leave --dry-run out to train all of it in {folder}.", highlight=False)


def _forecast(name: str, plan: Plan) -> Forecast:
    tell(f"{name}: reading {', '.join(plan.tasks)}, and timing some updates of a copy")
    from rota.runs import forecast  # late: it loads torch

    return forecast(plan)


def together(seconds: Sequence[float], runs: Sequence[Forecast], jobs: int) -> float:
    """Of runs side by side: processes share the cores, and a GPU is hardly faster for several."""
    if not runs:
        return 0.0
    gpu = any(own.device != "cpu" for own in runs)
    room = 1 if gpu else max(1, (os.cpu_count() or 1) // max(own.threads for own in runs))
    return max(sum(seconds) / min(jobs, room), *seconds)


def _table(planned: Sequence[Trainings], found: Mapping[str, Forecast | RotaError]) -> Table:
    table = Table(title="Runs", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for column in ("name", "method", "runs", "updates", "evaluation", "memory", "disk", "time of one"):
        table.add_column(column, justify="left" if column in ("name", "method") else "right")
    for each in planned:
        own = found[each.name]
        if isinstance(own, RotaError):
            table.add_row(escape(each.name), "–", str(each.runs), *["–"] * 5)
            continue
        sizes = size_told(own.memory_bytes), size_told(own.total_bytes)
        numbers = f"{own.plan.steps:,}", f"{own.evaluation.share:.0%}", *sizes, time_told(own.total_seconds)
        table.add_row(escape(each.name), escape(own.plan.method), str(each.runs), *numbers)
    return table


def _tasks(found: Forecast) -> Table:
    plan = found.plan
    title = f"{plan.method}, seed {plan.seed}: {plan.steps:,} updates"
    table = Table(title=escape(title), title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for column in ("task", "kind", *SPLITS, "batch", "share", "passes"):
        table.add_column(column, justify="left" if column in ("task", "kind") else "right")
    for name, task in found.tasks.items():
        table.add_row(
            escape(name) + ("" if task.counted else " (auxiliary)"),
            escape(task.kind),
            *(f"{task.rows[split]:,}" if task.rows.get(split) else "–" for split in SPLITS),
            str(task.batch) if task.batch else "–",
            f"{task.share:.0%}" if task.batch else "–",
            f"{task.passes:.1f}" if task.batch else "–",
        )
    table.caption = "share of the updates and passes over the training rows under the mixture at the beginning"
    return table


def _what(found: Forecast) -> list[tuple[str, str]]:
    """What is trained, and how."""
    plan = found.plan
    options = ", ".join(f"{name}={value}" for name, value in found.options.items()) or "none"
    rows = sum(task.rows.get("train", 0) for task in found.tasks.values() if task.batch)
    before = contamination(plan.model, found.tasks)
    frozen = "" if found.trained == found.parameters else f", {found.trained:,} of them trained"
    return [
        ("method", f"{plan.method}: {found.policy} with {found.stream}"),
        ("options", options),
        ("updates", f"{plan.steps:,} of {plan.batch_size * plan.accumulate} rows; {rows:,} rows in a pass"),
        ("optimizer", f"{plan.optimizer}, rate {plan.highest_rate:g}, {plan.schedule} after {plan.warmup:.0%}"),
        ("evaluation", found.evaluation.told().removeprefix("evaluation: ")),
        ("model", f"{plan.model}, {found.parameters:,} parameters{frozen}"),
        *([("met before", before)] if before else []),
        ("device", f"{found.device}, precision {plan.precision}, engine {plan.engine}"),
    ]


def _costs(found: Forecast) -> list[tuple[str, str]]:
    speed = f"{1000 * found.update_seconds:.3g} ms for an update, {1000 * found.evaluation_seconds:.3g} ms"
    return [
        ("checkpoint", f"{size_told(found.checkpoint_bytes)}; all that is written {size_told(found.total_bytes)}"),
        ("memory", f"{size_told(found.memory_bytes)} for parameters, gradients and optimizer; activations come on top"),
        *(("first", line) for line in _first(found)),
        ("time", f"{_span(found.total_seconds, found.total_alone_seconds)}; {time_told(found.ready_seconds)} to begin"),
        ("measured", f"{speed} for an evaluation"),
    ]


def _first(found: Forecast) -> list[str]:
    """What the method trains before its own run."""
    return [
        f"{stage.name}: {f'{stage.runs} runs' if stage.runs > 1 else '1 run'} of {own.plan.method}, "
        f"{own.plan.steps:,} updates, about {time_told(stage.runs * own.total_seconds)}"
        for stage, own in found.before
    ]


def _span(seconds: float, alone: float) -> str:
    """
    >>> _span(100, 90), _span(100, 40)
    ('about 1 min 40 s', 'about 1 min 40 s while the machine is as busy as now, 40 s if it were idle')
    """
    told = f"about {time_told(seconds)}"
    return (
        told
        if seconds < BUSY * alone
        else f"{told} while the machine is as busy as now, {time_told(alone)} if it were idle"
    )


def size_told(size: float) -> str:
    """
    >>> size_told(900), size_told(306_072), size_told(1.3e9)
    ('900 B', '306 kB', '1.3 GB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.0f} {unit}" if unit in ("B", "kB") or size >= 100 else f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def time_told(seconds: float) -> str:
    """
    >>> time_told(0.31), time_told(75), time_told(7300), time_told(200_000)
    ('0.3 s', '1 min 15 s', '2 h 1 min', '2 days 7 h')
    """
    if seconds < 59.5:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} days {hours % 24} h"
