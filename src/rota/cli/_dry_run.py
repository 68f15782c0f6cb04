"""What `--dry-run` prints: what would be trained, and what it would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rota.cli._tables import print_whole
from rota.errors import RotaError

if TYPE_CHECKING:
    from rota.comparisons import Cell
    from rota.runs import Forecast

SPLITS = ("train", "dev", "test")


def show_forecast(found: Forecast, folder: object, console: Console) -> None:
    """Everything about one run."""
    print_whole(console, _tasks(found))
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for name, told in [*_what(found), *_costs(found), ("folder", f"{folder}, not made")]:
        table.add_row(name, escape(told))
    console.print(table)
    console.print("Nothing was trained. Leave --dry-run out to train it.", highlight=False)


def show_forecasts(
    found: Mapping[str, Forecast | RotaError], cells: Sequence[Cell], jobs: int, console: Console
) -> None:
    """What every variant of a comparison would cost, and all runs together.

    Args:
        found: By variant; why there is none, where there is none.
        cells: The runs that are not finished.
        jobs: Runs at a time.
        console: Where to print.
    """
    known = {variant: own for variant, own in found.items() if not isinstance(own, RotaError)}
    if known:
        print_whole(console, _tasks(next(iter(known.values()))))
    table = Table(title="Variants", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    columns = ("variant", "method", "runs", "updates", "parameters", "evaluations", "memory", "disk", "time per run")
    for column in columns:
        table.add_column(column, justify="left" if column in ("variant", "method") else "right")
    for variant, own in found.items():
        runs = str(sum(cell.variant == variant for cell in cells))
        if isinstance(own, RotaError):
            table.add_row(escape(variant), "–", runs, *["–"] * 6)
            continue
        cost = f"{own.evaluation.share:.0%}", size_told(own.memory_bytes), size_told(own.folder_bytes)
        numbers = f"{own.plan.steps:,}", f"{own.parameters:,}", *cost, time_told(own.ready_seconds + own.seconds)
        table.add_row(escape(variant), _method(own), runs, *numbers)
    print_whole(console, table)
    for variant, own in found.items():
        if isinstance(own, RotaError):
            console.print(f"{variant}: {own}", highlight=False, markup=False)
    runs_known = [known[cell.variant] for cell in cells if cell.variant in known]
    seconds = sum(own.ready_seconds + own.seconds for own in runs_known) / min(jobs, max(1, len(runs_known)))
    disk = size_told(sum(own.folder_bytes for own in runs_known))
    told = f"{len(runs_known)} runs, {jobs} at a time: about {time_told(seconds)}, {disk} on the disk."
    console.print(told, highlight=False)
    console.print("Nothing was trained. Leave --dry-run out to train them.", highlight=False)


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


def _method(found: Forecast) -> str:
    options = ", ".join(f"{name}={value}" for name, value in found.options.items())
    return escape(f"{found.plan.method} ({options})" if options else found.plan.method)


def _what(found: Forecast) -> list[tuple[str, str]]:
    """What is trained, and how."""
    plan = found.plan
    options = ", ".join(f"{name}={value}" for name, value in found.options.items()) or "none"
    rows = sum(task.rows.get("train", 0) for task in found.tasks.values() if task.batch)
    frozen = "" if found.trained == found.parameters else f", {found.trained:,} of them trained"
    return [
        ("method", f"{plan.method}: {found.policy} with {found.stream}"),
        ("options", options),
        ("updates", f"{plan.steps:,} of {plan.batch_size * plan.accumulate} rows; {rows:,} rows in a pass"),
        ("optimizer", f"{plan.optimizer}, rate {plan.highest_rate:g}, {plan.schedule} after {plan.warmup:.0%}"),
        ("evaluation", found.evaluation.told().removeprefix("evaluation: ")),
        ("model", f"{plan.model}, {found.parameters:,} parameters{frozen}"),
        ("device", f"{found.device}, precision {plan.precision}, engine {plan.engine}"),
    ]


def _costs(found: Forecast) -> list[tuple[str, str]]:
    speed = f"{1000 * found.update_seconds:.3g} ms for an update, {1000 * found.evaluation_seconds:.3g} ms"
    return [
        ("checkpoint", f"{size_told(found.checkpoint_bytes)}; the whole run {size_told(found.folder_bytes)}"),
        ("memory", f"{size_told(found.memory_bytes)} for parameters, gradients and optimizer; activations come on top"),
        ("time", f"about {time_told(found.seconds)}, after {time_told(found.ready_seconds)} of getting ready"),
        ("measured", f"{speed} for an evaluation"),
    ]


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
