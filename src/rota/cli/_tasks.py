"""`rota tasks`: what there is to learn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from rota.cli._console import open_console
from rota.cli._difficulty_table import show_difficulty
from rota.errors import RotaError

if TYPE_CHECKING:
    from rota.data import NamedTask, Reading, Suite

SPLITS = ("train", "dev", "test")


def tasks(
    data: Annotated[Path | None, typer.Option(help="folder with data sets [dim]($ROTA_DATA)[/dim]")] = None,
    difficulty: Annotated[
        bool, typer.Option("--difficulty", help="measure how difficult their texts are (EDM), the hardest first")
    ] = False,
    tasks: Annotated[
        str, typer.Option(metavar="A,B,…", help="with --difficulty: only these; tasks, suites or YAML files")
    ] = "",
) -> None:
    """List the tasks with their kinds, metrics and sizes, and where they were found.

    rota tasks --difficulty --tasks cola,rte --data DIR
    """
    from rota.data import SUITES, Reading  # late: they load torch

    reading = Reading(data)
    if difficulty:
        show_difficulty([name.strip() for name in tasks.split(",") if name.strip()], reading)
        return
    if tasks:
        raise RotaError("--tasks expects --difficulty. Without it, all tasks are listed.")
    folder = reading.folder
    console = open_console()
    shown: set[str] = set()
    for suite in SUITES.values():
        if set(suite.tasks) <= shown:
            console.print(f"[bold]{suite.name}[/]: {suite.summary} ({len(suite.tasks)} tasks)\n")
            continue
        shown |= set(suite.tasks)
        table = Table(title=f"{suite.name}: {suite.summary}", title_justify="left")
        for column in ("task", "kind", "metrics", *SPLITS, "found"):
            table.add_column(column, justify="right" if column in SPLITS else "left")
        for row in _published(suite, folder) if suite.named else _made(suite, reading):
            table.add_row(*row)
        console.print(table)
    if folder is None:
        console.print("Name a folder with data sets to see their sizes: rota tasks --data DIR")
    console.print("Name tasks or whole suites: rota train --tasks left,right,noise; a YAML file is a task of your own.")


def _made(suite: Suite, reading: Reading) -> list[list[str]]:
    """Tasks that are generated, or made from pictures in the data folder."""
    try:
        found = suite.load(suite.tasks, reading)
    except RotaError:
        return [[f"[bold]{name}[/]", "", "", "", "", "", "–"] for name in suite.tasks]
    return [
        [
            f"[bold]{task.name}[/]" + (" (auxiliary)" if task.auxiliary else ""),
            repr(task.kind),
            ", ".join(task.kind.metric_names),
            *(_count(task.size(split)) for split in SPLITS),
            "made on the spot" if not task.notes else str(reading.folder),
        ]
        for task in found
    ]


def _published(suite: Suite, folder: Path | None) -> list[list[str]]:
    """Published texts: read and counted where they are in the data folder."""
    return [_row(task, folder) for task in suite.named]


def _row(task: NamedTask, folder: Path | None) -> list[str]:
    found = task.local(folder)
    kind = task.form.kind
    sizes = [_count(found[split].count(task.form) if split in found else 0) for split in SPLITS]
    place = next(iter(found.values())).place if found else f"hub: {task.hub.path}"
    return [f"[bold]{task.name}[/]", repr(kind), ", ".join(kind.metric_names), *sizes, escape(place)]


def _count(number: int) -> str:
    return f"{number:,}" if number else "–"
