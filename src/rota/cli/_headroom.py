"""`rota headroom`: how much is there to win with a better mixture?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer
from rich.console import Console

from rota.cli._compare import train_all
from rota.cli._console import open_console, tell
from rota.cli._dry_run import DryRun, Trainings, show_runs
from rota.cli._fields import numbers, refuse_decided, with_plan_flags
from rota.cli._headroom_tables import gains_table, mixtures_table, verdict_told
from rota.cli._incomplete import show_incomplete
from rota.cli._tables import print_whole
from rota.cli._workers_flags import Jobs, On, needs_of
from rota.comparisons import COMPARISON, MIXTURES, Comparison, headroom_comparison, is_finished
from rota.errors import RotaError
from rota.plans import Plan, make_plan
from rota.runlog import write_json
from rota.surfaces import (
    ENOUGH,
    ShareLimits,
    Surface,
    Swarm,
    find_headroom,
    fit_surface,
    held_out,
    plain_mixtures,
    read_swarm,
    write_swarm,
)
from rota.workers import HERE, open_workers, read_place

if TYPE_CHECKING:
    from rota.analysis import MixtureTable

DECIDED = {"method", "options", "best", "seed"}
MIXTURE, PAGE = "mixture.json", "headroom.html"
Sizes = Mapping[str, int]


@with_plan_flags(rare=["measure", "enough", "passes", "table", "sizes", "higher", "batch_size", "lr"], decided=DECIDED)
def headroom(
    out: Annotated[Path | None, typer.Option(help="folder of all [dim](runs/headroom)[/dim]")] = None,
    mixtures: Annotated[int, typer.Option(metavar="N", help="how many to train")] = MIXTURES,
    fraction: Annotated[
        float, typer.Option(metavar="F", help="part of --steps they are trained for; below 1, six for all of them, too")
    ] = 1.0,
    seeds: Annotated[
        str, typer.Option(metavar="A,B,…", help="the seeds themselves, not how many [dim](0,1)[/dim]")
    ] = "0,1",
    passes: Annotated[
        float | None, typer.Option(min=0.01, help="give a task at most so many passes over its rows [dim](any)")
    ] = None,
    enough: Annotated[float, typer.Option(min=0, metavar="POINTS", help="a gain that would be worth a change")] = 100
    * ENOUGH,
    measure: Annotated[
        Literal["score", "loss"], typer.Option(help="what is modelled, on dev rows; of a loss, a point is 0.01")
    ] = "score",
    table: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="train nothing: ratios.csv and metrics.csv of Olmix, lower is better"),
    ] = None,
    higher: Annotated[bool, typer.Option("--higher", help="with --table: in its metrics, higher is better")] = False,
    sizes: Annotated[
        str, typer.Option(metavar="A=ROWS,…", help="with --table: rows of each source, for mixtures by size")
    ] = "",
    jobs: Jobs = None,
    on: On = HERE,
    dry_run: DryRun = False,
    *,
    fields: dict[str, Any],
) -> None:
    """How much is there to win with a better mixture? Trains a designed set of mixtures and fits laws to them.

    rota headroom --tasks digits --steps 300 --seeds 0,1,2
    rota headroom --tasks rte,mrpc,cola --data DIR --steps 3000 --fraction 0.25 --out runs/h
    rota train --tasks rte,mrpc,cola --data DIR --mixture runs/h/mixture.json
    rota headroom --table FOLDER

    Scores are those of the last model on dev rows. Interrupted, the same command goes on.
    """
    refuse_decided("headroom", DECIDED, fields)
    read_place(on)  # a place that does not exist is refused before anything is read
    folder = out or Path("runs") / "headroom"
    console = open_console()
    if table is not None:
        if fields:
            raise RotaError(
                f"--table expects no training. Found --{next(iter(fields)).replace('_', '-')}. Leave it out."
            )
        _conclude(*_from_table(table, higher, sizes), None, folder, enough / 100, None, console)
        return
    if sizes or higher:
        raise RotaError(f"--{'sizes' if sizes else 'higher'} expects --table FOLDER beside it. Found none.")
    plan = make_plan(fields, "the flags")
    tell(f"{folder}: reading {', '.join(plan.tasks)}")
    from rota.plans import tasks_of  # late: it loads torch

    rows = {task.name: task.size("train") for task in tasks_of(plan) if task.trained}
    comparison = headroom_comparison(rows, fields, numbers(seeds, "seeds"), mixtures, fraction)
    if dry_run:
        _show_cost(comparison, folder, jobs or 1)
        return
    tell(f"{folder}: {len(comparison.cells)} runs of {len(comparison.variants)} mixtures")
    with open_workers(on, jobs, *needs_of([cell.plan for cell in comparison.cells])) as workers:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / COMPARISON, comparison.described())
        runs, ended = train_all(comparison, folder, workers, console)
    if waiting := [*ended["queued"], *ended["left"]]:
        line = f"Not among the mixtures yet: {', '.join(waiting)}. Later, the same command without --on adds them."
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if runs:
        from rota.analysis import read_mixtures  # late: it takes a moment

        by_steps = read_mixtures(runs.values(), measure)
        part, whole = by_steps[min(by_steps)], by_steps[max(by_steps)] if len(by_steps) > 1 else None
        _conclude(_surface(part), rows, _known(part), whole, folder, enough / 100, _limits(passes, plan, rows), console)
        if not math.isnan(part.noise):
            tell(f"One run's mean {measure} varies by {100 * part.noise:.2f} points around that of its mixture.")
    if failed := ended["failed"]:
        raise RotaError(f"Expected {len(comparison.cells)} finished runs. Found {len(failed)} that failed: {failed}.")


def _show_cost(comparison: Comparison, folder: Path, jobs: int) -> None:
    """Mixtures that are trained for as many steps cost the same."""
    planned = []
    for steps in sorted({cell.plan.steps for cell in comparison.cells}):
        own = [cell for cell in comparison.cells if cell.plan.steps == steps]
        missing = sum(not is_finished(cell.plan, cell.folder(folder)) for cell in own)
        planned.append(Trainings(f"mixtures, {steps:,} steps", own[0].plan, missing))
    if not show_incomplete(planned, folder):
        show_runs(planned, folder, jobs)


def _conclude(
    surface: Surface,
    rows: Sizes,
    swarm: Swarm | None,
    whole: MixtureTable | None,
    folder: Path,
    enough: float,
    limits: ShareLimits | None,
    console: Console,
) -> None:
    """Tables here; the mixture, the page and the tables of Olmix in files."""
    plain = plain_mixtures(rows)
    known = held_out(surface)
    full = (whole.shares, whole.scores) if whole else None
    found = find_headroom(surface, plain, limits, full, enough)
    print_whole(console, mixtures_table(found, plain))
    print_whole(console, gains_table(found, known))
    console.print(verdict_told(found, known), highlight=False, markup=False)
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / MIXTURE]
    gain = {"mean": found.gain.mean, "low": found.gain.low, "high": found.gain.high}
    write_json(files[0], {"mixture": found.mixture, "over": found.plain, "gain": gain, "advice": found.advice})
    if swarm is not None:
        files += write_swarm(swarm, folder)
    from rota.report import DRAWING, missing_here, write_headroom  # late: it takes a moment

    if package := missing_here(*DRAWING):
        tell(f"There will be tables and no picture, which needs {package}. Later, the same command adds it.")
    else:
        files.append(folder / PAGE)
        write_headroom(found, known, plain, files[-1])
    lines = [f"In files: {', '.join(map(str, files))}"]
    if swarm is not None:
        lines.append(f"Train with it: rota train --mixture {files[0]} …")
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _surface(table: MixtureTable) -> Surface:
    return fit_surface(table.sources, table.shares, table.scores)


def _known(table: MixtureTable) -> Swarm:
    """What was trained, as Olmix reads it: of a score, what it lacks to 1, because lower has to be better."""
    names = tuple(f"mixture-{k}" for k in range(len(table.shares)))
    losses = all(values.max() <= 0 for values in table.scores.values())
    metrics = {task: -values if losses else 1 - values for task, values in table.scores.items()}
    return Swarm(names, table.sources, table.shares, metrics)


def _from_table(folder: Path, higher: bool, sizes: str) -> tuple[Surface, dict[str, int], None]:
    swarm = read_swarm(folder)
    rows = dict.fromkeys(swarm.sources, 1)
    if sizes:
        rows = _sizes(sizes)
        if set(rows) != set(swarm.sources):
            raise RotaError(f"--sizes expects rows of {', '.join(swarm.sources)}. Found {', '.join(rows)}.")
        rows = {source: rows[source] for source in swarm.sources}
    sign = 1 if higher else -1
    scores = {name: sign * values for name, values in swarm.metrics.items()}
    return fit_surface(swarm.sources, swarm.shares, scores), rows, None


def _sizes(text: str) -> dict[str, int]:
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, count = part.partition("=")
        if not (equals and count.isdecimal() and int(count)):
            raise RotaError(f"--sizes expects rows such as web=1000,code=200. Found '{part}'.")
        found[name.strip()] = int(count)
    return found


def _limits(passes: float | None, plan: Plan, rows: Sizes) -> ShareLimits | None:
    """At most so many passes over the rows of a task, or as many as a plain mixture gives it."""
    if passes is None:
        return None
    total = plan.steps * plan.batch_size * plan.accumulate
    plain = np.array([list(mixture.values()) for mixture in plain_mixtures(rows).values()]).max(axis=0)
    most = np.maximum([passes * count / total for count in rows.values()], plain)
    return ShareLimits(np.zeros(len(rows)), np.minimum(most, 1.0))
