"""`rota evaluate`: how good a trained model is, on all rows."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from rota.cli._console import open_console
from rota.cli._tables import listed, note_left_out, number


class ProbeEngine(StrEnum):
    """How rows go through the model."""

    auto = "auto"
    eager = "eager"
    graph = "graph"


def evaluate(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="a run folder, or several that answer together: an ensemble")
    ],
    split: Annotated[str, typer.Option(metavar="dev|test|train", help="which rows")] = "dev",
    tasks: Annotated[str, typer.Option(metavar="A,B,…", help="only these tasks of the runs")] = "",
    data: Annotated[Path | None, typer.Option(help="data folder [dim](that of the first run)[/dim]")] = None,
    rows: Annotated[int | None, typer.Option(min=1, help="at most so many rows of a task [dim](all)[/dim]")] = None,
    engine: Annotated[
        ProbeEngine, typer.Option(help="how rows go through the model; auto captures CUDA graphs where that pays")
    ] = ProbeEngine.auto,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON instead of a table")] = False,
) -> None:
    """Score the best model of a run with every metric of its tasks.

    Several runs, such as the seeds of one plan, are scored together, by the mean of what they say, and one by one.

    rota evaluate runs/first --split test
    """
    from rota.data import glue_averages  # late: they load torch
    from rota.inference import Ensemble, Trained

    names = [name.strip() for name in tasks.split(",") if name.strip()]
    members = [Trained(run) for run in runs]
    trained = members[0] if len(members) == 1 else Ensemble(members)
    result = trained.evaluate(split, data, names, rows, engine.value)
    for own in (result, *result.get("runs", [])):
        own["averages"] = glue_averages(own["tasks"])
    if as_json:
        typer.echo(json.dumps(result))
    else:
        open_console().print(_table(runs, result))


def _table(runs: list[Path], result: dict[str, Any]) -> Table:
    """One line for each task; of an ensemble also the score of each run, in the order in which they were named."""
    singles: list[dict[str, Any]] = result.get("runs", [])

    def each(scores: list[float | None]) -> list[str]:
        return [" · ".join(map(number, scores))] if scores else []

    which = escape(", ".join(str(run) for run in runs))
    table = Table(title=f"{'Mean of ' if singles else ''}{which}: {result['split']} rows", title_justify="left")
    for column in ("task", "rows", "loss", "score", "metrics", *(["score of each run"] if singles else [])):
        table.add_column(column, justify="right" if column in ("rows", "loss", "score") else "left")
    names, others = listed({name: own["score"] for name, own in result["tasks"].items()})
    for row, name in enumerate(names):
        own = result["tasks"][name]
        metrics = " · ".join(f"{metric} {_told(metric, value)}" for metric, value in own["metrics"].items())
        numbers = f"{own['n']:,}", number(own["loss"], 3, scale=1), number(own["score"])
        table.add_row(escape(name), *numbers, metrics, *each([single["tasks"][name]["score"] for single in singles]))
        note_left_out(table, row, others)
    table.add_section()
    numbers = "", number(result["loss"], 3, scale=1), number(result["average"])
    table.add_row("average", *numbers, "", *each([single["average"] for single in singles]), style="bold")
    for name, value in result["averages"].items():
        scores = each([single["averages"][name] for single in singles])
        table.add_row(name, "", "", number(value), "", *scores, style="bold")
    return table


def _told(metric: str, value: float) -> str:
    """In percent, or in nats."""
    return number(value, 3, scale=1) if metric.startswith("log_loss") else number(value)
