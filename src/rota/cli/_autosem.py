"""`rota autosem`: choose tasks for a target, find their ratio, train with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from rota.cli._console import open_console, tell
from rota.cli._dry_run import DryRun, Trainings, show_runs
from rota.cli._fields import numbers, refuse_decided, with_option_flags, with_plan_flags
from rota.cli._tables import mean_and_spread, number
from rota.cli._workers_flags import Jobs, On, needs_of
from rota.comparisons import ALONE, Cell, train_cells
from rota.errors import RotaError, unknown_name
from rota.methods import METHODS, ratio_found
from rota.names import folder_name
from rota.plans import Plan, make_plan, merge_fields
from rota.runlog import SUMMARY, Run
from rota.search import load_optuna, mean_random_share
from rota.workers import HERE, open_workers, read_place

AUTOSEM = METHODS["autosem"]
KINDS = ("autosem", "autosem@paper")
"""The method and its presets."""
DECIDED = {"seed", "budget"}
"""Fields of a plan that are not for the caller."""
CHANCE, SINGLE = "random ratio", "target alone"


@with_plan_flags(
    rare=[
        "jobs",
        "on",
        "no_select",
        "no_search",
        "baselines",
        "seeds_per_ratio",
        "storage",
        "candidates",
        "batch_size",
        "lr",
    ],
    decided=DECIDED,
)
@with_option_flags(AUTOSEM.options, "trials", "rounds", "candidates", "storage")
def autosem(
    target: Annotated[str, typer.Option(help="the task that is to be helped")],
    seeds: Annotated[str, typer.Option(metavar="A,B,…", help="everything once for each of these")] = "0",
    method: Annotated[str, typer.Option(metavar="NAME", help=" or ".join(KINDS))] = AUTOSEM.name,
    seeds_per_ratio: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="trainings with each ratio [dim](1; 2 as printed)[/dim]")
    ] = None,
    no_select: Annotated[bool, typer.Option("--no-select", help="without stage 1: search over all candidates")] = False,
    no_search: Annotated[bool, typer.Option("--no-search", help="without stage 2: a grid of as many ratios")] = False,
    baselines: Annotated[bool, typer.Option(help="train a random ratio and the target alone, too")] = True,
    out: Annotated[Path | None, typer.Option(help="folder for the runs [dim](runs/METHOD-TARGET)[/dim]")] = None,
    jobs: Jobs = None,
    on: On = HERE,
    dry_run: DryRun = False,
    *,
    options: dict[str, Any],
    fields: dict[str, Any],
) -> None:
    """Choose auxiliary tasks for a target, find their ratio, and train with it: AutoSeM (Guo, Pasunuru & Bansal, 2019).

    rota autosem --target left --tasks digits --seeds 0,1,2

    As the paper prints it: --method autosem@paper. More of its settings are options of these methods, such as --option
    top=3 (see `rota methods`). Interrupted, the same command goes on. With --jobs or --on, seeds and baselines are
    trained at the same time.
    """
    refuse_decided("autosem", DECIDED, fields)
    if method not in KINDS:
        raise unknown_name("method of `rota autosem`", method, KINDS)
    if not read_place(on).waits:
        raise RotaError("`rota autosem` waits for its runs. Found wait=no. Leave it out.")
    load_optuna()  # before any data is read
    own: dict[str, Any] = {**options} if seeds_per_ratio is None else {**options, "seeds": seeds_per_ratio}
    own |= {"select": False} if no_select else {}
    own |= {"sampler": "grid"} if no_search else {}
    common = merge_fields({"options": own}, fields, {"target": target, "method": method})
    listed = numbers(seeds, "seeds")
    if not listed:
        raise RotaError("--seeds expects at least one number. Found none.")
    plans = {seed: make_plan({**common, "seed": seed}, "the flags") for seed in listed}
    folder = out or Path("runs") / f"{method}-{folder_name(target, 'target')}"
    tell(f"{folder}: reading {', '.join(plans[listed[0]].tasks)}")
    from rota.plans import candidates_of  # late: they load torch and plotly
    from rota.report import refuse_without_packages, write_report

    refuse_without_packages()
    console = open_console()
    variants: dict[str, dict[str, Any]] = {method: {}}
    if baselines:
        first = plans[listed[0]]
        tasks = candidates_of(first, METHODS[method].checked(first.options).candidates)[0]
        variants |= {CHANCE: {"method": "random-ratio", "options": {}, "only": tuple(tasks)}}
        variants |= {SINGLE: {"method": "singletask", "options": {}}}
    if dry_run:
        _show_planned(
            {variant: [plans[seed].model_copy(update=own) for seed in listed] for variant, own in variants.items()},
            folder,
        )
        return
    cells = [
        Cell(_named(variant), seed, plans[seed].model_copy(update=changes))
        for seed in listed
        for variant, changes in variants.items()
    ]
    _train(cells, folder, on, jobs)
    runs = {variant: [Run(_place(folder, variant, seed)) for seed in listed] for variant in variants}
    console.print(_ratios(runs[method]))
    console.print(_scores(runs, target))
    page = folder / "report.html"
    write_report([run for own in runs.values() for run in own], page)
    console.print(f"The report is in {page}", highlight=False, markup=False, soft_wrap=True)


def _named(variant: str) -> str:
    return variant.replace(" ", "-")


def _place(folder: Path, variant: str, seed: int) -> Path:
    return folder / f"{_named(variant)}-{seed}"


def _train(cells: list[Cell], folder: Path, on: str, jobs: int | None) -> None:
    """All of them, or the first mistake."""
    console = open_console()
    with open_workers(on, jobs, *needs_of([cell.plan for cell in cells])) as workers:
        for event in train_cells(cells, folder, workers, ALONE, progress=workers.jobs == 1):
            if event.cell is None:
                continue
            if event.kind in ("started", "kept"):
                console.print(f"[dim]{event.cell.variant}, seed {event.cell.seed}[/dim]", highlight=False)
            elif event.kind != "done":
                raise RotaError(f"{event.cell.name} expects to be trained. Found: {event.said}")


def _show_planned(plans: dict[str, list[Plan]], folder: Path) -> None:
    """What is not finished, by variant."""
    planned = []
    for variant, own in plans.items():
        missing = [plan for plan in own if not (_place(folder, variant, plan.seed) / SUMMARY).is_file()]
        planned.append(Trainings(variant, own[0], len(missing)))
    show_runs(planned, folder)


def _ratios(runs: list[Run]) -> Table:
    """What each seed chose and found."""
    table = Table("seed", "tasks", "ratio", title="What was chosen", title_justify="left")
    for run in runs:
        ratio = ratio_found(run)
        table.add_row(str(run.plan["seed"]), escape(", ".join(ratio)), ":".join(map(str, ratio.values())))
    return table


def _scores(runs: dict[str, list[Run]], target: str) -> Table:
    """The target's scores, and the share that each task got of the updates."""
    first = next(iter(runs.values()))
    table = Table(title=f"Scores of {escape(target)} and shares of the updates, in percent", title_justify="left")
    tasks = list(dict.fromkeys([target, *(task for own in runs.values() for run in own for task in run.info["tasks"])]))
    table.add_column("")
    for column in ("dev", "test", *tasks):
        table.add_column(escape(column), justify="right")
    for variant, own in runs.items():
        best = [run.summary["best"] for run in own]
        scores = [mean_and_spread(found[split]["average"] for found in best) for split in ("dev", "test")]
        shares = [_shares(run) for run in own]
        means = (sum(share.get(task, 0.0) for share in shares) / len(own) for task in tasks)
        table.add_row(variant, *scores, *map(number, means))
    table.caption = f"over {len(first)} seed{'s' if len(first) > 1 else ''}"
    if CHANCE in runs:
        auxiliaries = len(runs[CHANCE][0].info["tasks"]) - 1
        table.caption += f"; an auxiliary has {number(mean_random_share(auxiliaries))} % at random"
    return table


def _shares(run: Run) -> dict[str, float]:
    total = sum(run.summary["updates"].values())
    return {task: count / total for task, count in run.summary["updates"].items()}
