"""`rota transfer`: which task helps which?"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rota.analysis import Ratio, read_transfer
from rota.cli._compare import show_comparison, train_all
from rota.cli._console import open_console, tell
from rota.cli._dry_run import DryRun
from rota.cli._fields import listed, numbers, refuse_decided, with_plan_flags
from rota.cli._tables import difference_told, print_whole, spread_told
from rota.cli._workers_flags import Jobs, On, needs_of
from rota.comparisons import COMPARISON, transfer_comparison
from rota.errors import RotaError, missing_package
from rota.plans import make_plan
from rota.runlog import Run, write_json, write_text
from rota.workers import HERE, open_workers, read_place

if TYPE_CHECKING:
    from rota.analysis import TransferEffect, TransferTable

DECIDED = {"method", "options", "target", "best", "budget", "seed"}
TABLE, PAGE = "transfer.csv", "transfer.html"
CSV_HEADER = ("task", "beside", "batches", "alone", "gain", "low", "high", "normalised", "mutual", "seeds", "verdict")
MatrixView = Literal["points", "normalised", "mutual"]


@with_plan_flags(rare=["view", "ratios", "batch_size", "lr"], decided=DECIDED)
def transfer(
    out: Annotated[Path | None, typer.Option(help="folder of all [dim](runs/transfer)[/dim]")] = None,
    targets: Annotated[str, typer.Option(metavar="A,B,…", help="only what helps these [dim](all tasks)[/dim]")] = "",
    ratios: Annotated[
        str, typer.Option(metavar="1:1,4:1,…", help="batches of the task and of its helper [dim](1:1)[/dim]")
    ] = "1:1",
    seeds: Annotated[
        str, typer.Option(metavar="A,B,…", help="the seeds themselves, not how many [dim](0,1,2,3,4)[/dim]")
    ] = "0,1,2,3,4",
    view: Annotated[
        MatrixView,
        typer.Option(help="normalised: in percent of what a task lacks alone; mutual: both directions"),
    ] = "points",
    jobs: Jobs = None,
    on: On = HERE,
    dry_run: DryRun = False,
    *,
    fields: dict[str, Any],
) -> None:
    """Which task helps which? Trains each task alone and beside each other one.

    rota transfer --tasks digits --seeds 0,1,2,3,4
    rota transfer --tasks rte,mrpc,cola --data DIR --targets rte --ratios 1:1,4:1 --steps 500

    --steps are the updates of each task, on the same rows in all of its runs; those of the helper come on top. Scores
    are those of the last model on dev rows. Interrupted, the same command goes on.
    """
    refuse_decided("transfer", DECIDED, fields)
    read_place(on)  # a place that does not exist is refused before anything is read
    asked = [_ratio(text) for text in listed(ratios)]
    plan = make_plan(fields, "the flags")
    folder = out or Path("runs") / "transfer"
    tell(f"{folder}: reading {', '.join(plan.tasks)}")
    from rota.plans import tasks_of  # late: it loads torch

    names = [task.name for task in tasks_of(plan) if task.trained]
    comparison = transfer_comparison(names, fields, numbers(seeds, "seeds"), listed(targets), asked)
    if dry_run:
        show_comparison(comparison, folder, jobs or 1)
        return
    tell(f"{folder}: {len(comparison.cells)} runs of {', '.join(comparison.variants)}")
    from rota.report import DRAWING, missing_here  # late: it takes a moment

    if package := missing_here("scipy"):
        raise missing_package("A table with intervals", package, "report")
    drawn = missing_here(*DRAWING)
    if drawn:
        tell(f"There will be a table and no picture, which needs {drawn}. Later, the same command adds it.")
    console = open_console()
    with open_workers(on, jobs, *needs_of([cell.plan for cell in comparison.cells])) as workers:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / COMPARISON, comparison.described())
        runs, ended = train_all(comparison, folder, workers, console)
    if runs:
        _show(read_transfer(runs.values()), folder, view, console, plan.steps if drawn is None else None)
        console.print(rows_told(runs.values()), highlight=False, markup=False, soft_wrap=True)
    if waiting := [*ended["queued"], *ended["left"]]:
        line = f"Not in the table yet: {', '.join(waiting)}. Later, the same command without --on adds them."
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if failed := ended["failed"]:
        raise RotaError(f"Expected {len(comparison.cells)} finished runs. Found {len(failed)} that failed: {failed}.")


def _show(table: TransferTable, folder: Path, view: MatrixView, console: Console, updates: int | None) -> None:
    """The matrix here, all numbers in files."""
    for ratio in table.ratios if view != "mutual" else [Ratio()]:
        print_whole(console, matrix(table, view, ratio))
    print_whole(console, best_helpers(table))
    write_text(folder / TABLE, as_csv(table))
    files = [folder / TABLE]
    if updates is not None:
        from rota.report import write_transfer  # late: it takes a moment

        write_transfer(table, folder / PAGE, updates)
        files.append(folder / PAGE)
    line = f"Intervals and all views: {' and '.join(map(str, files))}"
    console.print(line, highlight=False, markup=False, soft_wrap=True)


def rows_told(runs: Iterable[Run]) -> str:
    """The rows of each task in all runs that trained it, from what they counted."""
    seen: dict[str, set[int]] = {}
    for run in runs:
        for task, rows in run.summary.get("exposure", {"rows": {}})["rows"].items():
            if rows:
                seen.setdefault(task, set()).add(rows)
    told = (f"{task} {'–'.join(f'{rows:,}' for rows in sorted({min(own), max(own)}))}" for task, own in seen.items())
    return f"Budget: updates. Rows of each task in every one of its runs: {', '.join(told)}."


def matrix(table: TransferTable, view: MatrixView, ratio: Ratio) -> Table:
    """Tasks below each other, what was trained beside them side by side."""
    effects = table.mutual if view == "mutual" else table.effects
    told = {
        "points": "points of the dev score that a task (row) gains beside a helper (column)",
        "normalised": "what a task (row) gains beside a helper (column), in percent of what it lacks alone",
        "mutual": "points that both tasks of a pair gain on average",
    }[view]
    beside = "" if ratio == Ratio() else f", {ratio} batches"
    lines = [f"Transfer: {told}{beside}.", f"* beyond noise, corrected for {len(effects)} pairs (Holm); [95 %]"]
    found = Table(title="\n".join(lines), title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    found.add_column("")
    found.add_column("alone", justify="right", no_wrap=True)
    helpers = table.tasks if view == "mutual" else table.helpers
    for helper in helpers:
        found.add_column(escape(helper), justify="right", no_wrap=True)
    for target in table.tasks:
        cells = [
            table.mutual_effect(target, helper) if view == "mutual" else table.effect(target, helper, ratio)
            for helper in helpers
        ]
        found.add_row(escape(target), spread_told(table.alone[target]), *(_told(own, view) for own in cells))
    return found


def _told(effect: TransferEffect | None, view: MatrixView) -> str:
    """Two lines: the gain, and its interval."""
    if effect is None:
        return ""
    own = effect.of_the_rest if view == "normalised" else effect.gain
    mark = "" if effect.verdict == "cannot tell" else " *"
    colour = {"helps": "green", "harms": "red"}.get(effect.verdict)
    gain = f"{_signed(own.mean)}{mark}"
    shown = f"[{colour}]{gain}[/{colour}]" if colour else gain
    return f"{shown}\n[dim]{_signed(own.low)}, {_signed(own.high)}[/dim]" if own.n > 1 else shown


def _signed(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:+.1f}".replace("-", "−")


def best_helpers(table: TransferTable) -> Table:
    """For each task what helped it most, and whether that is more than noise."""
    found = Table(title="What helps most", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for column in ("task", "beside", "batches", "gain [95 %]", "verdict"):
        found.add_column(column, justify="right" if column.startswith("gain") else "left", no_wrap=True)
    for target in table.tasks:
        own = [effect for effect in table.effects if effect.pairing.target == target]
        if own:
            best = max(own, key=lambda effect: effect.gain.mean)
            names = escape(target), escape(best.pairing.helper), str(best.pairing.ratio)
            found.add_row(*names, difference_told(best.gain), best.verdict)
    return found


def as_csv(table: TransferTable) -> str:
    """All effects and all views, one row for each pair and direction."""
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(CSV_HEADER)
    for effect in table.effects:
        target, helper, ratio = effect.pairing
        gain = effect.gain
        mutual = table.mutual_effect(target, helper) if ratio == Ratio() else None
        both = math.nan if mutual is None else mutual.gain.mean
        found = [table.alone[target].mean, gain.mean, gain.low, gain.high, effect.of_the_rest.mean, both]
        told = ["" if math.isnan(own) else round(own, 6) for own in found]
        rows.writerow([target, helper, ratio, *told, gain.n, effect.verdict])
    return written.getvalue()


def _ratio(text: str) -> Ratio:
    own, colon, other = text.partition(":")
    if not (colon and own.isdecimal() and other.isdecimal() and int(own) and int(other)):
        raise RotaError(f"--ratios expects batches of the task and of its helper, such as 1:1 or 4:1. Found '{text}'.")
    divisor = math.gcd(int(own), int(other))
    return Ratio(int(own) // divisor, int(other) // divisor)
