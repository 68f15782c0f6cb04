"""`rota compare`: variants of a plan, each with several seeds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from rota.budgets import UPDATES
from rota.cli._claims import check_claims
from rota.cli._compare_tables import exposure_table, score_summary, scores_by_task
from rota.cli._completion import method_lists
from rota.cli._console import open_console, tell
from rota.cli._dry_run import DryRun, Trainings, show_runs
from rota.cli._fields import listed, numbers, read_fields, with_plan_flags
from rota.cli._grid import GridProgress
from rota.cli._incomplete import show_commands, show_incomplete
from rota.cli._tables import print_whole
from rota.cli._workers_flags import Jobs, On, needs_of
from rota.comparisons import (
    COMPARISON,
    FORWARDS,
    Cell,
    Comparison,
    equal_cost,
    is_finished,
    make_comparison,
    other_verbs,
    run_comparison,
    train_marked,
)
from rota.errors import RotaError, missing_package
from rota.methods import METHODS
from rota.runlog import Run, write_json
from rota.workers import HERE, Workers, open_workers, read_place

ALL = "all"


@with_plan_flags(
    rare=["cell", "singles", "budget", "full", "interval", "without", "baseline", "options", "batch_size", "lr"],
    decided=["method", "seed"],
)
def compare(
    file: Annotated[
        Path | None, typer.Argument(help="a YAML file with common fields, variants and seeds [dim](flags alone)[/dim]")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="folder of all [dim](runs/NAME of FILE, or compare)[/dim]")] = None,
    methods: Annotated[
        str,
        typer.Option(
            metavar="A,B,…", help="methods to compare; all: those that need no more", autocompletion=method_lists
        ),
    ] = "",
    models: Annotated[str, typer.Option(metavar="A,B,…", help="with each of these models")] = "",
    seeds: Annotated[
        str, typer.Option(metavar="A,B,…", help="the seeds themselves, not how many [dim](0,1,2)[/dim]")
    ] = "",
    jobs: Jobs = None,
    on: On = HERE,
    cell: Annotated[
        int | None, typer.Option(metavar="K", help="train this one of the runs, counted from 0, and make no table")
    ] = None,
    baseline: Annotated[str | None, typer.Option(help="the variant that others are compared with (uniform)")] = None,
    without: Annotated[
        str, typer.Option(metavar="A,B,…", help="leave out plain baselines: uniform, proportional, union, temperature")
    ] = "",
    singles: Annotated[str, typer.Option(metavar="A,B,…", help="train these tasks alone, too")] = "",
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="updates|forwards|WORD:N",
            help="what is equal: updates; forwards: the cost in forward passes; or a budget of each run: rows:N, "
            "kept-rounds:N, passes-of-target:N, forwards:N [dim](updates)[/dim]",
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="the size that the file has under `full`")] = False,
    interval: Annotated[
        Literal["t", "bootstrap"], typer.Option(help="of differences: paired t, or from ten seeds on bootstrap")
    ] = "t",
    dry_run: DryRun = False,
    *,
    fields: dict[str, Any],
) -> None:
    """Train every variant with every seed and compare them with the baseline, seed by seed.

    rota compare --methods exp3s,counterfactual --tasks digits --seeds 0,1,2 --jobs 2
    rota compare experiments/002-table-1.yaml --data DIR --steps 1000

    Plain baselines are always part of it, unless switched off by name. Runs that are finished are kept, and one that
    fails does not stop the others: run it again to go on.
    """
    place = read_place(on)
    content = dict(read_fields(file, "variants:")) if file else {}
    chosen: dict[str, Any] = {
        "methods": _methods(methods, fields),
        "models": listed(models),
        "without": listed(without),
        "singles": listed(singles),
        "baseline": baseline,
    }
    if budget in (UPDATES, FORWARDS):
        chosen["budget"] = budget
    elif budget is not None:
        fields = {**fields, "budget": budget}
    if singles and isinstance(content.get("singles"), Mapping):  # other tasks, of the variant that the file names
        chosen["singles"] = {**content["singles"], "tasks": listed(singles)}
    content |= {name: value for name, value in chosen.items() if value}
    if "seed" in fields:
        raise RotaError("A comparison expects --seeds, such as 0,1,2. Found --seed.")
    if "method" in fields:
        raise RotaError("A comparison expects --methods, such as uniform,exp3s. Found --method.")
    source = str(file) if file else "the flags"
    if dry_run and (commands := other_verbs(content, source, full)):
        show_commands(commands)
        return
    comparison = make_comparison(content, fields, numbers(seeds, "seeds"), source, full)
    try:
        check_claims(comparison, source)
    except RotaError as error:  # some may be right, and runs are worth having
        tell(f"Not all of its claims can be judged. {error}")
    folder = out or Path("runs") / (file.stem if file else "compare")
    if dry_run:
        show_comparison(comparison if cell is None else comparison.only(cell), folder, jobs or 1)
        return
    if cell is not None:
        _train_one(comparison, cell, folder, place.name)
        return
    tell(f"{folder}: {len(comparison.cells)} runs of {', '.join(comparison.variants)}")
    from rota.report import DRAWING, missing_here  # late: it takes a moment

    if package := missing_here("scipy"):
        raise missing_package("A table with intervals", package, "report")
    page = folder / "report.html"
    if package := missing_here(*DRAWING):
        tell(f"There will be tables and no page, which needs {package}. Later, elsewhere: rota report {folder}")
    console = open_console()
    with open_workers(on, jobs, *needs_of([cell.plan for cell in comparison.cells])) as workers:
        folder.mkdir(parents=True, exist_ok=True)
        if comparison.budget == FORWARDS:
            console.print("Measuring what an update of each variant costs", highlight=False)
            comparison = equal_cost(comparison, folder, workers=workers)
            told = ", ".join(f"{cell.variant} {cell.plan.steps}" for cell in _first_seed(comparison))
            console.print(f"Updates at equal cost: {told}", highlight=False, markup=False)
        write_json(folder / COMPARISON, comparison.described())
        runs, ended = train_all(comparison, folder, workers, console)
    if runs:
        _show(comparison, runs, None if package else page, interval, console)
        if comparison.claims:
            line = f"What is claimed about it: rota claims {folder}"
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    if queued := ended["queued"]:
        line = f"Queued: {', '.join(queued)}. Not in the tables yet. Later, the same command without --on adds them."
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if left := ended["left"]:
        line = f"Others are training {', '.join(left)}: not in the tables yet. Later, the same command adds them."
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if failed := ended["failed"]:
        raise RotaError(f"Expected {len(comparison.cells)} finished runs. Found {len(failed)} that failed: {failed}.")


def _train_one(comparison: Comparison, number: int, folder: Path, place: str) -> None:
    """One run of a comparison, for any scheduler's array of jobs."""
    if place != HERE:
        raise RotaError(f"--cell expects to be trained by the process that is asked. Found --on {place}. Leave it out.")
    if comparison.budget == FORWARDS:
        raise RotaError(
            "--cell expects an equal number of updates. Found budget forwards, for which pilots of all variants come "
            "first. Train all runs with one command."
        )
    (own,) = comparison.only(number).cells
    tell(f"{folder}: {own.name}")
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / COMPARISON, comparison.described())
    if is_finished(own.plan, own.folder(folder)):
        tell(f"{own.name} is finished")
        return
    ended, said = train_marked(own, folder)
    if ended != "done":
        raise RotaError(f"{own.name} expects to be trained. Found: {said}")


def show_comparison(comparison: Comparison, folder: Path, jobs: int) -> None:
    """What would be trained of a comparison, and what it would cost."""
    missing = [cell.variant for cell in comparison.cells if not is_finished(cell.plan, cell.folder(folder))]
    planned = [Trainings(cell.variant, cell.plan, missing.count(cell.variant)) for cell in _first_seed(comparison)]
    if not show_incomplete(planned, folder):
        show_runs(planned, folder, jobs)
    if comparison.budget == FORWARDS:
        tell("Updates are as asked for: what an equal cost makes of them is measured before.")


def _methods(text: str, fields: Mapping[str, Any]) -> list[str]:
    """The methods by name; all that can be trained with nothing but these fields."""
    names = listed(text)
    if names != [ALL]:
        return names
    return [
        name
        for name, method in METHODS.items()
        if not any(field.is_required() for field in method.options.model_fields.values())
        and ("target" in fields or "target" not in method.needs)
    ]


def _first_seed(comparison: Comparison) -> list[Cell]:
    return [cell for cell in comparison.cells if cell.seed == comparison.cells[0].seed]


def train_all(
    comparison: Comparison, folder: Path, workers: Workers, console: Console
) -> tuple[dict[tuple[str, int], Run], dict[str, list[str]]]:
    """Train what is missing, and show it: all runs that are finished by variant and seed, and the names of those that
    failed, were left to others or wait in a queue."""
    runs: dict[tuple[str, int], Run] = {}
    ended: dict[str, list[str]] = {"failed": [], "left": [], "queued": []}
    alone = workers.jobs == 1
    with GridProgress(comparison, folder, console, workers.jobs) as progress:
        for event in run_comparison(comparison, folder, progress=console.is_terminal and alone, workers=workers):
            progress.hear(event)
            if event.cell is not None and event.run is not None:
                runs[event.cell.variant, event.cell.seed] = event.run
            elif event.cell is not None and event.kind in ended:
                ended[event.kind].append(event.cell.name)
    return runs, ended


def _show(
    comparison: Comparison,
    runs: dict[tuple[str, int], Run],
    page: Path | None,
    interval: Literal["t", "bootstrap"],
    console: Console,
) -> None:
    from rota.analysis import all_costs, all_exposures, all_scores, group_runs  # late: it takes a moment
    from rota.report import write_report

    in_order = [runs[cell.variant, cell.seed] for cell in comparison.cells if (cell.variant, cell.seed) in runs]
    names = {run.folder: variant for (variant, _), run in runs.items()}
    groups = group_runs(in_order, names)
    scores = all_scores(groups, comparison.baseline, interval)
    costs = {cost.group.name: cost for cost in all_costs(groups)}
    print_whole(console, score_summary(comparison, scores, costs))
    print_whole(console, scores_by_task(scores))
    if exposures := all_exposures(groups):
        print_whole(console, exposure_table(exposures))
    if page is not None:
        write_report(in_order, page, baseline=comparison.baseline, names=names)
        console.print(f"The report is in {page}", highlight=False, markup=False, soft_wrap=True)
