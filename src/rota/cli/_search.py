"""`rota search`: in which ratio do tasks help a target most?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from rota.cli._console import open_console, tell
from rota.cli._dry_run import DryRun, Trainings, show_runs
from rota.cli._fields import refuse_decided, with_option_flags, with_plan_flags
from rota.cli._tables import number
from rota.cli._workers_flags import On, needs_of
from rota.errors import RotaError
from rota.methods import METHODS, InnerRuns, find_ratio
from rota.names import folder_name
from rota.plans import Plan, make_plan
from rota.runlog import INNER, SELECTION, SUMMARY, Run, SelectionRecord, read_record
from rota.search import load_optuna
from rota.workers import HERE, Assignment, HowItEnded, Labour, WorkPlace, open_workers, read_place

if TYPE_CHECKING:
    from rota.search import RatioSearch

AUTOSEM = METHODS["autosem"]
DECIDED = {"method", "options", "budget"}
"""Fields of a plan that are not for the caller."""
SHOWN = 10  # ratios in the table


@with_plan_flags(
    rare=[
        "jobs",
        "on",
        "initial",
        "budget_steps",
        "name",
        "storage",
        "pruning",
        "auxiliary",
        "primary",
        "sampler",
        "space",
        "simplex",
        "seeds_per_ratio",
        "batch_size",
        "lr",
    ],
    decided=DECIDED,
)
@with_option_flags(
    AUTOSEM.options, "trials", "sampler", "space", "initial", "primary", "auxiliary", "pruning", "storage"
)
def search(
    selected: Annotated[
        Path | None, typer.Argument(help="a folder of `rota select`: its tasks, target and settings")
    ] = None,
    seeds_per_ratio: Annotated[int, typer.Option(min=1, metavar="N", help="trainings with each ratio")] = 1,
    simplex: Annotated[bool, typer.Option("--simplex", help="shares that sum to one instead of whole numbers")] = False,
    budget_steps: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="begin no trial after this number of updates")
    ] = None,
    name: Annotated[str | None, typer.Option(help="of the study in its storage [dim](made of the tasks)[/dim]")] = None,
    out: Annotated[
        Path | None, typer.Option(help="folder for the trainings [dim](runs/search-TARGET-SEED)[/dim]")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, metavar="N", help="workers that share the trials")
    ] = None,
    on: On = HERE,
    dry_run: DryRun = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON instead of a table")] = False,
    *,
    options: dict[str, Any],
    fields: dict[str, Any],
) -> None:
    """Find the mixing ratio with the best dev score of a target: AutoSeM's second stage.

    rota search runs/select-left-0 --trials 20
    rota search --target rte --tasks rte,mrpc,wnli --storage sqlite:///ratios.db

    Start the same command again to go on, or at the same time, here or elsewhere, to share the work.
    """
    refuse_decided("search", DECIDED, fields)
    _refuse_place(read_place(on), jobs)
    if selected is not None:
        fields = {**_selected(selected), **fields}
    own = AUTOSEM.checked(options)
    load_optuna()  # before any data is read
    plan = make_plan(fields, source="the flags")
    if plan.target is None:
        raise RotaError("`rota search` expects --target, or a folder of `rota select`. Found none.")
    folder = out or Path("runs") / f"search-{folder_name(plan.target, 'target')}-{plan.seed}"
    tell(f"{folder}: reading {', '.join(plan.tasks)}")
    from rota.plans import tasks_of  # late: it loads torch

    names = [task.name for task in tasks_of(plan) if task.trained]
    tasks = [plan.target, *(task for task in names if task != plan.target)]
    if dry_run:
        even = {"method": "cycle", "options": {"weights": dict.fromkeys(tasks, 1)}, "only": tuple(tasks)}
        done = len(list(folder.glob(f"{INNER}/*/{SUMMARY}")))
        left = max(0, own.trials * seeds_per_ratio - done)  # at most: some are stopped early
        show_runs([Trainings("one ratio", plan.model_copy(update=even), left)], folder)
        return
    asked = {
        "tasks": tasks,
        "trials": own.trials,
        "storage": own.storage,
        "simplex": simplex,
        "seed": plan.seed,
        "seeds_per_point": seeds_per_ratio,
        "sampler": own.sampler,
        "primary_bounds": own.primary,
        "auxiliary_bounds": own.auxiliary,
        "space": own.space,
        "initial": own.initial,
        "budget_steps": budget_steps,
        "pruning": own.pruning,
        "name": name,
    }
    if on != HERE or jobs is not None:
        _share(plan, folder, asked, on, jobs)
    found = _found(plan, folder, asked, progress=open_console(stderr=True).is_terminal, told=True)
    if as_json:
        typer.echo(json.dumps({"ratio": found.ratio, "score": found.value}))
        return
    console = open_console()
    console.print(ratio_table(found))
    if found.ratio is not None:
        weights = ",".join(f"{task}={count:g}" for task, count in found.ratio.items() if count)
        only = ",".join(task for task, count in found.ratio.items() if count)
        command = f"rota train --method {'fixed' if simplex else 'cycle'} --option weights={weights} --only {only}"
        command += f" --target {plan.target} --tasks {','.join(plan.tasks)} …"
        console.print(f"Train with it: {command}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"See it with: rota report {folder}", highlight=False, markup=False, soft_wrap=True)


def _refuse_place(place: WorkPlace, jobs: int | None) -> None:
    if place.name != HERE and jobs is None:
        raise RotaError("`rota search --on …` expects --jobs: how many workers share the trials. Found none.")
    if not place.shared:
        raise RotaError("`rota search` expects workers that share its folder. Found results=. Leave it out.")
    if not place.waits:
        raise RotaError("`rota search` waits for its trials. Found wait=no. Leave it out.")


def _found(plan: Plan, folder: Path, asked: dict[str, Any], progress: bool, told: bool) -> RatioSearch:
    from rota.runs import run_plan  # late: it loads torch

    inner = InnerRuns(run_plan, plan, folder, progress, told, outer=False)
    return find_ratio(inner, changes={}, **asked)


def _share(plan: Plan, folder: Path, asked: dict[str, Any], on: str, jobs: int | None) -> None:
    """Several workers do the trials of one search."""
    fields = {"plan": plan.model_dump(exclude_unset=True), "asked": asked}
    with open_workers(on, jobs, *needs_of([plan])) as workers:
        shares = [
            Assignment(f"worker-{number}", str((folder / f"worker-{number}").absolute()), fields)
            for number in range(min(workers.jobs, asked["trials"]))
        ]
        tell(f"{len(shares)} workers share the trials")
        for kind, share, ended in workers.work_through(shares, Labour(_trials_of_one)):
            if kind == "died" or (kind == "done" and ended[0] != "done"):
                said = ended if kind == "died" else ended[1]
                raise RotaError(f"{share.name} of this search expects to do its trials. Found: {said}")


def _trials_of_one(share: Assignment) -> HowItEnded:
    try:
        plan = make_plan(share.fields["plan"])
        _found(plan, Path(share.folder).parent, share.fields["asked"], progress=False, told=False)
    except RotaError as error:
        return "failed", str(error)
    except Exception as error:  # on another machine it may work
        return "broken", f"{type(error).__name__}: {error}"
    return "done", ""


def ratio_table(found: RatioSearch) -> Table:
    """The best ratios, and how they were proposed."""
    table = Table(title=f"{len(found.trials)} ratios of {':'.join(found.space.names)}", title_justify="left")
    for column in ("ratio", "dev", "trial", "proposed by"):
        table.add_column(column, justify="right" if column in ("dev", "trial") else "left")
    finished = [trial for trial in found.trials if trial.state == "done"]
    best = sorted(finished, key=lambda trial: -(trial.value or 0.0))[:SHOWN]
    for place, trial in enumerate(best):
        ratio = ":".join(f"{part:g}" for part in trial.ratio.values())
        row = ratio, number(trial.value), str(trial.number + 1), trial.acquisition or "chance"
        table.add_row(*row, style="bold" if place == 0 else "")
    others = len(found.trials) - len(best)
    if others:
        pruned = sum(trial.state == "pruned" for trial in found.trials)
        table.caption = f"{others} more{f', {pruned} of them stopped early' if pruned else ''}"
    return table


def _selected(folder: Path) -> dict[str, Any]:
    """The fields of a run of `rota select`, with the tasks that it chose; the length is for the caller."""
    run = Run(folder)
    if not (folder / SELECTION).is_file():
        raise RotaError(f"Expected a finished folder of `rota select` at {folder}. Found none (no {SELECTION}).")
    chosen = read_record(folder / SELECTION, SelectionRecord)["chosen"]
    own = {name: value for name, value in run.plan.items() if name not in (*DECIDED, "steps", "eval_every")}
    return {**own, "only": chosen}
