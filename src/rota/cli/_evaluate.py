"""`rota evaluate`: how good a trained model is, on all rows."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rota.cli._tables import number


class Engine(StrEnum):
    """How rows go through the model."""

    auto = "auto"
    eager = "eager"
    graph = "graph"


def evaluate(
    run: Annotated[Path, typer.Argument(help="a run folder")],
    split: Annotated[str, typer.Option(metavar="dev|test|train", help="which rows")] = "dev",
    tasks: Annotated[str, typer.Option(metavar="A,B,…", help="only these tasks of the run")] = "",
    data: Annotated[Path | None, typer.Option(help="data folder [dim](that of the run)[/dim]")] = None,
    rows: Annotated[int | None, typer.Option(min=1, help="at most so many rows of a task [dim](all)[/dim]")] = None,
    engine: Annotated[
        Engine, typer.Option(help="how rows go through the model; auto captures CUDA graphs where that pays")
    ] = Engine.auto,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON instead of a table")] = False,
) -> None:
    """Score the best model of a run with every metric of its tasks.

    rota evaluate runs/first --split test
    """
    from rota.data import glue_averages  # late: they load torch
    from rota.methods import Trained

    names = [name.strip() for name in tasks.split(",") if name.strip()]
    trained = Trained(run)
    result = trained.evaluate(split, data, names, rows, engine.value)
    result["averages"] = glue_averages(result["tasks"])
    if as_json:
        typer.echo(json.dumps(result))
    else:
        Console().print(_table(run, result))


def _table(run: Path, result: dict[str, Any]) -> Table:
    table = Table(title=f"{escape(str(run))}: {result['split']} rows", title_justify="left")
    for column in ("task", "rows", "loss", "score", "metrics"):
        table.add_column(column, justify="left" if column in ("task", "metrics") else "right")
    for name, own in result["tasks"].items():
        metrics = " · ".join(f"{metric} {number(value)}" for metric, value in own["metrics"].items())
        table.add_row(escape(name), f"{own['n']:,}", number(own["loss"], 3, scale=1), number(own["score"]), metrics)
    table.add_section()
    table.add_row("average", "", number(result["loss"], 3, scale=1), number(result["average"]), "", style="bold")
    for name, value in result["averages"].items():
        table.add_row(name, "", "", number(value), "", style="bold")
    return table
