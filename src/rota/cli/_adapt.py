"""`rota adapt`: a new task for a trained model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rota.cli._compare import show_comparison, train_all
from rota.cli._console import open_console, tell
from rota.cli._dry_run import DryRun
from rota.cli._fields import listed, numbers, refuse_decided, with_plan_flags
from rota.cli._tables import difference_told, mean_and_spread, print_whole
from rota.cli._workers_flags import Jobs, On, needs_of
from rota.comparisons import ADAPTED, COMPARISON, FRESH
from rota.errors import RotaError
from rota.names import folder_name
from rota.plans import make_plan
from rota.runlog import only_writer, write_json
from rota.workers import HERE, open_workers, read_place

if TYPE_CHECKING:
    from rota.comparisons import Adaptation


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


@with_plan_flags(
    rare=["init", "epochs", "least", "fewest", "heads", "fresh", "method", "options", "batch_size", "lr"],
    decided=[*DECIDED, "seed"],
)
def adapt(
    run: Annotated[Path, typer.Argument(help="the run whose model learns the task")],
    task: Annotated[str, typer.Option(help="the new task")],
    fractions: Annotated[str, typer.Option(metavar="X,Y,…", help="shares of its training rows")] = "0.001,0.01,0.1,1",
    beside: Annotated[str, typer.Option(metavar="RUN,lora,…", help="what else learns it: runs, adapters")] = "",
    seeds: Annotated[
        str, typer.Option(metavar="A,B,…", show_default=False, help="the seeds themselves, not how many (0)")
    ] = "0",
    init: Annotated[
        str | None,
        typer.Option(help="what its vector begins as: a task of the run, average, random, xavier; default the best"),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, metavar="N", help="passes over the rows")] = 5,
    least: Annotated[int, typer.Option(min=1, metavar="N", help="updates at least")] = 100,
    fewest: Annotated[int, typer.Option(min=1, metavar="N", help="rows at least")] = 16,
    heads: Annotated[
        int, typer.Option(min=1, metavar="N", help="untrained heads with which each beginning is scored")
    ] = 3,
    fresh: Annotated[bool, typer.Option(help="train the run's own encoder from the beginning, too")] = True,
    out: Annotated[Path | None, typer.Option(help="folder for the trainings [dim](runs/adapt-RUN-TASK)[/dim]")] = None,
    jobs: Jobs = None,
    on: On = HERE,
    dry_run: DryRun = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON instead of tables")] = False,
    *,
    fields: dict[str, Any],
) -> None:
    """Teach the model of a run a new task, with all of its rows and with few.

    rota adapt runs/glue --task scitail --fractions 0.01,1 --steps 2000
    rota adapt runs/glue --task scitail --beside runs/plain,lora --seeds 0,1,2

    A run of `--model camtl` gets a vector for the task, which begins as what scores best before training. All is
    trained, in at most --steps (3000) updates. Interrupted, the same command goes on.
    """
    shares = _shares(fractions)
    refuse_decided("adapt", {*DECIDED, "seed"}, fields)
    read_place(on)  # a place that does not exist is refused before anything is read
    plan = make_plan({"steps": 3000, "method": "uniform", **fields, "tasks": [task]}, source="the flags")
    folder = out or Path("runs") / folder_name(f"adapt-{run.resolve().name}-{Path(task).stem}", "task")
    tell(f"{folder}: reading {run} and {task}")
    from rota.comparisons import Adapting  # late: it loads torch

    others = listed(beside)
    adapting = Adapting(run, plan, shares, epochs, least, heads, fresh, others, numbers(seeds, "seeds"), fewest)
    if dry_run:
        show_comparison(adapting.comparison(init, tell), folder, jobs or 1)
        return
    console = open_console(stderr=as_json)
    with only_writer(folder):
        found = adapting.begun(init, tell)
        comparison = adapting.comparison(found.embedding, tell)
        write_json(folder / COMPARISON, comparison.described())
        with open_workers(on, jobs, *needs_of([cell.plan for cell in comparison.cells])) as workers:
            runs, ended = train_all(comparison, folder, workers, console)
        adapting.ended(found, comparison, runs, folder)
    if as_json:
        typer.echo(json.dumps(vars(found)))
    else:
        _show(found, folder, console)
    if queued := ended["queued"]:
        tell(f"Queued: {', '.join(queued)}. Not in the tables yet. Later, the same command without --on adds them.")
    if failed := ended["failed"]:
        raise RotaError(f"Expected {len(comparison.cells)} finished runs. Found {len(failed)} that failed: {failed}.")


def _show(found: Adaptation, folder: Path, console: Console) -> None:
    if found.zero_shot:
        table = Table(
            "vector begins as", "dev score, untrained heads", title="Nothing trained yet", title_justify="left"
        )
        for name, scores in found.zero_shot.items():
            mark = "  ←" if name == found.embedding else ""
            table.add_row(name, f"{100 * sum(scores) / len(scores):.1f} ({_spread(scores)}){mark}")
        console.print(table)
    learners = list(dict.fromkeys(learner for own in found.by_seed.values() for learner in own))
    told = {ADAPTED: "from the run", FRESH: "from its encoder"}
    table = Table("rows", "share", "updates", title="Dev score", title_justify="left")
    for learner in learners:
        table.add_column(escape(told.get(learner, learner)), justify="right", no_wrap=True)
    for share, own in found.scores.items():
        shown = [mean_and_spread(found.by_seed[share].get(learner, {}).values()) for learner in learners]
        table.add_row(f"{own['rows']:,}", f"{100 * float(share):g} %", f"{own['steps']:,}", *shown)
    print_whole(console, table)
    if any(len(own.get(ADAPTED, {})) > 1 for own in found.by_seed.values()) and len(learners) > 1:
        print_whole(console, _differences(found, [own for own in learners if own != ADAPTED], told))
    console.print(f"The trainings are in {folder}. See them with: rota report {folder}", markup=False, soft_wrap=True)


def _differences(found: Adaptation, others: list[str], told: dict[str, str]) -> Table:
    """What the model of the run is worth, seed by seed."""
    from rota.analysis import paired  # late: it takes a moment

    table = Table("rows", title="From the run, minus … [95 %]", title_justify="left")
    for learner in others:
        table.add_column(escape(told.get(learner, learner)), justify="right", no_wrap=True)
    for share, own in found.by_seed.items():
        shown = [difference_told(paired(own.get(ADAPTED, {}), own.get(learner, {}))) for learner in others]
        table.add_row(f"{found.scores[share]['rows']:,}", *shown)
    return table


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
