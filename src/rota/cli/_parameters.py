"""`rota parameters`: what conditioning on tasks adds to an encoder, and what of it is trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer
from rich.markup import escape
from rich.table import Table

from rota.cli._console import open_console
from rota.errors import RotaError, nearest

if TYPE_CHECKING:
    from rota.models.camtl import Amount, Counted

SIZES = ("base", "large")
USUAL_TASKS = 9
AS_PRINTED = (
    "The paper prints 1.12 × for both sizes, and 5.6 % trained for each task, which is half of BERT over 9 tasks."
)


def parameters(
    model: Annotated[str, typer.Argument(metavar="base|large|RUN", help="a size of BERT, or a run folder")] = "base",
    tasks: Annotated[
        int | None, typer.Option(min=1, help=f"how many share the encoder [dim]({USUAL_TASKS})[/dim]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON instead of a table")] = False,
) -> None:
    """Count the parameters of CA-MTL around BERT, or of the model of a run, part by part.

    rota parameters large --tasks 8
    """
    counts = _of_size(model, tasks or USUAL_TASKS) if model in SIZES else _of_run(model, tasks)
    if as_json:
        typer.echo(json.dumps({name: counted.describe() for name, counted in counts.items()}))
        return
    console = open_console()
    console.print(_table(model, counts))
    if model in SIZES:
        console.print(AS_PRINTED, highlight=False)


def _of_size(size: str, tasks: int) -> dict[str, Counted]:
    from rota.models.camtl import default_counts, released_counts  # late: they load torch

    known = cast(Literal["base", "large"], size)
    return {"released": released_counts(known, tasks), "defaults": default_counts(known, tasks)}


def _of_run(folder: str, tasks: int | None) -> dict[str, Counted]:
    if not Path(folder).is_dir():
        near = nearest(folder, SIZES)
        hint = f" Did you mean '{near}'?" if near else ""
        raise RotaError(f"Expected {', '.join(SIZES)} or a run folder. Found '{folder}'.{hint}")
    if tasks is not None:
        raise RotaError(
            f"--tasks expects {' or '.join(SIZES)}. Found the run folder {folder}, which has its own tasks."
        )
    from rota.inference import Trained  # late: they load torch
    from rota.models.camtl import count_parameters

    return {"run": count_parameters(Trained(folder).model)}


def _table(model: str, counts: dict[str, Counted]) -> Table:
    shared = max(counted.tasks for counted in counts.values())
    title = f"BERT {model}, cased" if model in SIZES else escape(model)
    table = Table(title=f"{title}: parameters, {shared} task{'s' if shared > 1 else ''}", title_justify="left")
    table.add_column("part")
    for name in counts:
        table.add_column(name, justify="right")
        table.add_column("trained", justify="right")
    columns = counts.values()

    def add(name: str, cells: list[tuple[str, str]], style: str = "") -> None:
        table.add_row(name, *(cell for pair in cells for cell in pair), style=style)

    add("plain encoder", [_cells(counted.base) for counted in columns])
    for part in dict.fromkeys(part for counted in columns for part in counted.parts):
        add(part, [_cells(counted.parts[part]) for counted in columns])
    table.add_section()
    add("total", [(f"{counted.total:,}", f"{counted.trained:,}") for counted in columns], style="bold")
    add("of the plain one", [(f"{own.growth:.2f} ×", f"{100 * own.trained_share:.1f} %") for own in columns])
    add("for each task", [("", f"{100 * counted.per_task:.1f} %") for counted in columns])
    if any(counted.heads.parameters for counted in columns):
        table.add_section()
        add("heads, beside the total", [_cells(counted.heads) for counted in columns], style="dim")
    return table


def _cells(amount: Amount) -> tuple[str, str]:
    return f"{amount.parameters:,}", f"{amount.trained:,}"
