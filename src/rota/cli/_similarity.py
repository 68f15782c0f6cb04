"""`rota similarity`: how alike the tasks of trained models look to their first layers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from rota.cli._comparisons import compared_runs, is_comparison
from rota.cli._console import open_console, tell
from rota.cli._tables import print_whole
from rota.errors import RotaError
from rota.runlog import Run, find_runs

if TYPE_CHECKING:
    from rota.analysis import GroupSimilarity, Spread
    from rota.inference import TaskSimilarity


def similarity(
    places: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="run folders that kept their models, or folders that hold some")
    ],
    tasks: Annotated[
        str, typer.Option(metavar="A,B,…", help="only these tasks [dim](those that all runs have)[/dim]")
    ] = "",
    split: Annotated[Literal["train", "dev", "test"], typer.Option(help="which rows")] = "train",
    rows: Annotated[int, typer.Option(min=1, help="at most so many rows of a task")] = 1000,
    data: Annotated[Path | None, typer.Option(help="data folder [dim](those of the runs)[/dim]")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="write a page with pictures, too")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, with all pairs of tasks, no tables")] = False,
) -> None:
    """Measure how alike the tasks of trained encoders look to the first layer, before and after conditional alignment.

    rota similarity runs/002-table-1 --out similarity.html

    Covariance similarity as in figure 6 of Pilault et al. (2021): of each task the mean over the other tasks, between 0
    (other directions) and 1. All runs read the same rows; runs that differ in their seed only are averaged.
    """
    found = _folders(places)
    runs = find_runs(places) if found is None else [Run(folder) for folder in found]
    common = _common(runs, [name.strip() for name in tasks.split(",") if name.strip()])
    tell(f"{len(runs)} {_runs(len(runs))}: reading {rows:,} {split} rows of {', '.join(common)}")
    from rota.inference import Trained, task_similarity  # late: they load torch

    members = [Trained(run.folder) for run in runs]
    errors = open_console(stderr=True)
    shown = track(members, "reading", console=errors, disable=not errors.is_terminal, transient=True)
    measured = [task_similarity(own, common, split, rows, data) for own in shown]
    _refuse_other_rows(runs, measured)
    if as_json:
        own = {str(run.folder): asdict(one) for run, one in zip(runs, measured, strict=True)}
        typer.echo(json.dumps({name: {k: v for k, v in one.items() if k != "content"} for name, one in own.items()}))
    groups = _groups(runs, measured, found)
    console = open_console()
    for group in groups if not as_json else ():
        print_whole(console, _table(group))
        if not group.after:
            console.print("No alignment: the first layer reads the embeddings as they are.", highlight=False)
    if out is not None:
        from rota.report import write_similarity  # late: it takes a moment

        write_similarity(groups, out)
        errors.print(f"The picture is in {out}", highlight=False, markup=False, soft_wrap=True)


def _folders(places: Sequence[Path]) -> dict[Path, str] | None:
    """Of a comparison, its runs and what it calls them."""
    return compared_runs(places[0]) if len(places) == 1 and is_comparison(places[0]) else None


def _common(runs: Sequence[Run], asked: Sequence[str]) -> list[str]:
    """The tasks that all runs have, for similarities with other others could not be compared."""
    common = [task for task in runs[0].info["tasks"] if all(task in run.info["tasks"] for run in runs)]
    missing = [name for name in asked if name not in common]
    if missing:
        known = ", ".join(common) or "none"
        raise RotaError(f"--tasks expects tasks that all runs have: {known}. Found {', '.join(missing)}.")
    kept = [task for task in common if not asked or task in asked]
    if len(kept) < 2:
        raise RotaError(f"Expected two tasks or more that all runs have. Found {', '.join(kept) or 'none'}.")
    left_out = sorted({task for run in runs for task in run.info["tasks"]} - set(common))
    if left_out and not asked:
        tell(f"Left out, since not every run has them: {', '.join(left_out)}")
    return kept


def _refuse_other_rows(runs: Sequence[Run], measured: Sequence[TaskSimilarity]) -> None:
    for run, own in zip(runs, measured, strict=True):
        for task, content in own.content.items():
            if content != measured[0].content[task]:
                raise RotaError(
                    f"Expected the same rows for all runs. Found other data of '{task}' in {run.folder} than in "
                    f"{runs[0].folder}. Name one folder for both: --data DIR."
                )


def _groups(
    runs: Sequence[Run], measured: Sequence[TaskSimilarity], names: dict[Path, str] | None
) -> list[GroupSimilarity]:
    from rota.analysis import GroupSimilarity, group_runs  # late: it takes a moment

    by_folder = {run.folder: own for run, own in zip(runs, measured, strict=True)}
    groups = []
    for group in group_runs(runs, names):
        own = [by_folder[run.folder] for run in group.runs]
        after = [one.others_after for one in own]
        aligned = [found for found in after if found is not None]
        groups.append(GroupSimilarity(group.name, own[0].rows, [one.others_before for one in own], aligned))
    return groups


def _table(group: GroupSimilarity) -> Table:
    seeds = len(group.before)
    title = f"{escape(group.name)}, {seeds} {_runs(seeds)}: covariance similarity with the other tasks"
    table = Table(title=title, title_justify="left")
    for column in ("task", "rows", *(("before", "after", "change") if group.after else ("similarity",))):
        table.add_column(column, justify="left" if column == "task" else "right")
    for task in group.rows:
        own = group.of(task)
        change = [_told(own.after), _told(own.change, "+")] if group.after else []
        table.add_row(escape(task), f"{group.rows[task]:,}", _told(own.before), *change)
    table.add_section()
    change = [_told(group.mean.after), _told(group.mean.change, "+")] if group.after else []
    table.add_row("mean", "", _told(group.mean.before), *change, style="bold")
    return table


def _told(found: Spread, sign: str = "") -> str:
    """Mean and standard deviation over seeds."""
    value = f"{round(found.mean, 3) + 0:{sign}.3f}".replace("-", "−")  # + 0: no minus before zero
    return value + (f" ± {found.std:.3f}" if found.n > 1 else "")


def _runs(count: int) -> str:
    return "run" if count == 1 else "runs"
