"""`rota train`: one run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from rota.cli._console import open_console, tell
from rota.cli._dry_run import DryRun, show_run
from rota.cli._fields import read_fields, with_plan_flags
from rota.cli._interrupts import allow, resumed_from
from rota.cli._tables import score_table
from rota.errors import RotaError
from rota.interrupts import GRACE
from rota.names import folder_name
from rota.plans import Plan, make_plan, merge_fields, refuse_two_lengths
from rota.runlog import LOG, SUMMARY, has_changes, read_mixture, started_plan

MOVED = ("device", "engine")
"""Fields of a plan that other hardware may need otherwise."""
OF_TASKS = ("options", "per_task", "rows")
"""Fields of a plan that may be said of tasks that come."""
WORTH_SAYING = 0.01
"""Share of the time from which on it is told what it was spent on."""


@with_plan_flags(rare=["checkpoint", "elastic", "add_task", "drop_task", "mixture", "tracker", "grace"])
def train(
    file: Annotated[Path | None, typer.Argument(help="a YAML file with the fields below; flags win over it")] = None,
    out: Annotated[Path | None, typer.Option(help="new folder for the run [dim](runs/METHOD-SEED)[/dim]")] = None,
    resume: Annotated[Path | None, typer.Option(help="continue the run in this folder; with its own settings")] = None,
    checkpoint: Annotated[str | None, typer.Option(help="with --resume: continue from this checkpoint")] = None,
    elastic: Annotated[
        bool,
        typer.Option("--elastic", help="with --resume: in another number of processes, or on another --device, too"),
    ] = False,
    add_task: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="with --resume: go on with these tasks, suites, files, too")
    ] = None,
    drop_task: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="with --resume: go on without these tasks")
    ] = None,
    mixture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="weights from a file of `rota improve`; method fixed by default")
    ] = None,
    tracker: Annotated[
        str | None, typer.Option(metavar="NAME", help="send losses, scores and shares to tensorboard, wandb, mlflow, …")
    ] = None,
    grace: Annotated[
        float, typer.Option(min=0, help="seconds that Ctrl-C and SIGTERM leave to save the present step")
    ] = GRACE,
    dry_run: DryRun = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="no progress bar, no table")] = False,
    *,
    fields: dict[str, Any],
) -> None:
    """Train one model on several tasks.

    rota train --tasks digits --method exp3s --steps 600
    rota train plan.yaml --seed 1 --out runs/second
    rota train --resume runs/second
    rota train --resume runs/second --add-task new.yaml --drop-task noise
    """
    if mixture is not None:
        options = fields.get("options", {})
        if "weights" in options:
            raise RotaError("Expected --mixture or --option weights=…. Found both.")
        fields.setdefault("method", "fixed")
        fields["options"] = {**options, "weights": read_mixture(mixture)}
    if resume is not None:
        before, plan = _resumed(resume, file, out, fields, elastic, checkpoint, _named(add_task), _named(drop_task))
        folder = resume
    else:
        alone = {"checkpoint": checkpoint, "elastic": elastic, "add-task": add_task, "drop-task": drop_task}
        for flag in (name for name, said in alone.items() if said):
            raise RotaError(f"--{flag} expects --resume FOLDER beside it. Found none.")
        before = plan = _planned(file, fields)
        folder = out or Path("runs") / f"{folder_name(plan.method, 'method')}-{plan.seed}"
    if dry_run:
        _forecast(plan, folder, resume)
        return
    if not quiet:
        tell(f"{folder}: reading {', '.join(plan.tasks)}")
    from rota.runs import run_plan  # late: it loads torch

    again = {"--tracker": tracker, "--grace": None if grace == GRACE else f"{grace:g}"}
    again |= {f"--{name}": fields.get(name) for name in MOVED if elastic}
    flags = [word for flag, said in again.items() if said for word in (flag, said)]
    resumed_from(folder, resume is not None, ["--elastic", *flags] if elastic else flags)
    allow(grace)
    done = resume is not None and (folder / SUMMARY).is_file()
    callbacks = []
    if tracker is not None:
        from rota.integrations.trackers import TrackerCallback

        callbacks.append(TrackerCallback(tracker))
    going_on: bool | str = (checkpoint or True) if resume else False
    run = run_plan(
        plan,
        folder,
        resume=going_on,
        elastic=elastic,
        takes_over=before if add_task or drop_task else None,
        progress=not quiet,
        callbacks=callbacks,
    )
    if not quiet and int(os.environ.get("RANK", 0)) == 0:
        console = open_console()
        if done:
            console.print(f"{folder} is finished already.", highlight=False, markup=False)
        console.print(score_table(run))
        share = run.summary.get("listening", 0.0) / max(run.summary["seconds"], 1e-9)
        if share > WORTH_SAYING:
            console.print(f"Measuring what the policy hears took {share:.0%} of the time.", highlight=False)
        where = f"The run is in {folder}. See it with: rota report {folder}"
        console.print(where, highlight=False, markup=False, soft_wrap=True)


def _named(tasks: str | None) -> list[str]:
    return [name.strip() for name in tasks.split(",") if name.strip()] if tasks else []


def _forecast(plan: Plan, folder: Path, resume: Path | None) -> None:
    if resume is not None:
        raise RotaError("--dry-run expects a new run. Found --resume. Leave one of them out.")
    if folder.exists():
        from rota.training import refuse_old  # late: it loads torch

        refuse_old(folder)  # as the run itself would
    show_run(plan, folder)


def _planned(file: Path | None, fields: dict[str, Any]) -> Plan:
    content = read_fields(file, "steps: 600") if file is not None else {}
    merged, source = merge_fields(content, fields), str(file) if file else "the flags"
    refuse_two_lengths(merged, source)
    return make_plan(merged, source)


def _resumed(
    folder: Path,
    file: Path | None,
    out: Path | None,
    fields: dict[str, Any],
    elastic: bool,
    checkpoint: str | None,
    add: list[str],
    drop: list[str],
) -> tuple[Plan, Plan]:
    """What a run was asked for up to its checkpoint, and what it is asked for from there on."""
    given = [*(["FILE"] if file else []), *(["--out"] if out else [])]
    started = started_plan(folder)
    if "method" not in started:
        raise RotaError(f"{folder} was started by a program. Continue it there, with `fit(…, resume=True)`.")
    if (add or drop) and elastic:
        raise RotaError("Expected other tasks or other hardware. Found --elastic beside --add-task or --drop-task.")
    if add or drop or has_changes(folder / LOG):
        from rota.runs import plan_of_checkpoint  # late: it loads torch

        started = plan_of_checkpoint(folder, checkpoint).model_dump(mode="json", exclude_unset=True)
    moved = {name: fields[name] for name in MOVED if elastic and name in fields}
    before = plan = make_plan({**started, **moved}, source=str(folder))
    if add or drop:
        from rota.runs import with_other_tasks

        of_tasks = {name: fields.pop(name) for name in OF_TASKS if name in fields}
        plan = make_plan(merge_fields(started, of_tasks), source="the flags")
        plan = with_other_tasks(plan, folder, add, drop)
    if fields:
        wished = make_plan({**started, **fields}, source="the flags")
        given += [f"--{name.replace('_', '-')}" for name in fields if getattr(wished, name) != getattr(before, name)]
    if given:
        raise RotaError(
            f"--resume expects the settings that the run was started with. Found {', '.join(given)}. "
            f"Leave that out, or start a new run with --out."
        )
    return before, plan
