"""`rota adapt`: a new task for a trained model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from rota.cli._console import open_console, tell
from rota.cli._dry_run import DryRun, Trainings, show_runs
from rota.cli._fields import refuse_decided, with_plan_flags
from rota.errors import RotaError
from rota.names import folder_name
from rota.plans import make_plan
from rota.runlog import SUMMARY

DECIDED = {
    "budget",
    "tasks",
    "model",
    "parts",
    "start",
    "embedding",
    "rows",
    "freeze",
    "longest",
    "pooling",
    "head_hidden",
    "dropout",
}
"""Fields of a plan that are not for the caller."""


@with_plan_flags(rare=["least", "heads", "fresh", "method", "options", "lr"], decided=DECIDED)
def adapt(
    run: Annotated[Path, typer.Argument(help="the run whose model learns the task")],
    task: Annotated[str, typer.Option(help="the new task")],
    fractions: Annotated[str, typer.Option(metavar="X,Y,…", help="shares of its training rows")] = "0.001,0.01,0.1,1",
    init: Annotated[
        str | None,
        typer.Option(help="what its vector begins as: a task of the run, average, random, xavier; default the best"),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, metavar="N", help="passes over the rows")] = 5,
    least: Annotated[int, typer.Option(min=1, metavar="N", help="updates at least")] = 100,
    heads: Annotated[
        int, typer.Option(min=1, metavar="N", help="untrained heads with which each beginning is scored")
    ] = 3,
    fresh: Annotated[bool, typer.Option(help="train the run's own encoder from the beginning, too")] = True,
    out: Annotated[
        Path | None, typer.Option(help="folder for the trainings [dim](runs/adapt-RUN-TASK-SEED)[/dim]")
    ] = None,
    dry_run: DryRun = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON instead of tables")] = False,
    *,
    fields: dict[str, Any],
) -> None:
    """Teach the model of a run a new task, with all of its rows and with few.

    rota adapt runs/glue --task scitail --fractions 0.01,1 --steps 2000

    A run of `--model camtl` gets a vector for the task, which begins as what scores best before training. All is
    trained, in at most --steps (3000) updates. Interrupted, the same command goes on.
    """
    shares = _shares(fractions)
    refuse_decided("adapt", DECIDED, fields)
    plan = make_plan({"steps": 3000, "method": "uniform", **fields, "tasks": [task]}, source="the flags")
    folder = out or Path("runs") / folder_name(f"adapt-{run.resolve().name}-{Path(task).stem}-{plan.seed}", "task")
    tell(f"{folder}: reading {run} and {task}")
    from rota.runs import Adapting  # late: it loads torch

    adapting = Adapting(run, plan, shares, epochs, least, heads, fresh)
    if dry_run:
        plans = adapting.plans(init, tell)
        show_runs(
            [Trainings(name, own, not (folder / name / SUMMARY).is_file()) for name, own in plans.items()], folder
        )
        return
    console = open_console(stderr=as_json)
    found = adapting(folder, init, tell)
    if as_json:
        typer.echo(json.dumps(vars(found)))
        return
    if found.zero_shot:
        table = Table(
            "vector begins as", "dev score, untrained heads", title="Nothing trained yet", title_justify="left"
        )
        for name, scores in found.zero_shot.items():
            mark = "  ←" if name == found.embedding else ""
            table.add_row(name, f"{100 * sum(scores) / len(scores):.1f} ({_spread(scores)}){mark}")
        console.print(table)
    table = Table(
        "rows", "share", "updates", "from the run", *(["from its encoder"] if fresh else []), title="Dev score"
    )
    for share, own in found.scores.items():
        shown = [f"{100 * own[name]:.1f}" for name in ("adapted", "fresh") if name in own]
        table.add_row(f"{own['rows']:,}", f"{100 * float(share):g} %", f"{own['steps']:,}", *shown)
    console.print(table)
    console.print(
        f"The trainings are in {folder}. See them with: rota report {folder}/*-*", markup=False, soft_wrap=True
    )


def _shares(text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = []
    if not found or not all(0 < share <= 1 for share in found):
        raise RotaError(f"--fractions expects numbers above 0 and up to 1, such as 0.01,1. Found '{text}'.")
    return found


def _spread(scores: list[float]) -> str:
    return f"{100 * min(scores):.1f} – {100 * max(scores):.1f}"
