"""`rota train`: one run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from rota.cli._console import open_console
from rota.cli._dry_run import show_forecast
from rota.cli._fields import read_fields, with_plan_flags
from rota.cli._improve import read_mixture
from rota.cli._interrupts import resumed_from
from rota.cli._tables import score_table
from rota.errors import RotaError
from rota.plans import Plan, make_plan, merge_fields
from rota.runlog import SUMMARY, started_plan

WORTH_SAYING = 0.01
"""Share of the time from which on it is told what it was spent on."""


@with_plan_flags(rare=["checkpoint", "mixture", "tracker"])
def train(
    file: Annotated[Path | None, typer.Argument(help="a YAML file with the fields below; flags win over it")] = None,
    out: Annotated[Path | None, typer.Option(help="new folder for the run [dim](runs/METHOD-SEED)[/dim]")] = None,
    resume: Annotated[Path | None, typer.Option(help="continue the run in this folder; with its own settings")] = None,
    checkpoint: Annotated[str | None, typer.Option(help="with --resume: continue from this checkpoint")] = None,
    mixture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="weights from a file of `rota improve`; method fixed by default")
    ] = None,
    tracker: Annotated[
        str | None, typer.Option(metavar="NAME", help="send losses, scores and shares to tensorboard, wandb, mlflow, …")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="show what would be trained and what it costs; train nothing")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="no progress bar, no table")] = False,
    *,
    fields: dict[str, Any],
) -> None:
    """Train one model on several tasks.

    rota train --tasks digits --method exp3s --steps 600
    rota train plan.yaml --seed 1 --out runs/second
    rota train --resume runs/second
    """
    if mixture is not None:
        options = fields.get("options", {})
        if "weights" in options:
            raise RotaError("Expected --mixture or --option weights=…. Found both.")
        fields.setdefault("method", "fixed")
        fields["options"] = {**options, "weights": read_mixture(mixture)}
    if resume is not None:
        plan, folder = _resumed(resume, file, out, fields)
    elif checkpoint is not None:
        raise RotaError("--checkpoint expects --resume FOLDER beside it. Found none.")
    else:
        plan = _planned(file, fields)
        folder = out or Path("runs") / f"{plan.method}-{plan.seed}"
    if dry_run:
        _forecast(plan, folder, resume)
        return
    from rota.runs import run_plan  # late: it loads torch

    resumed_from(folder, resume is not None, ["--tracker", tracker] if tracker else [])
    done = resume is not None and (folder / SUMMARY).is_file()
    callbacks = []
    if tracker is not None:
        from rota.integrations.trackers import TrackerCallback

        callbacks.append(TrackerCallback(tracker))
    going_on: bool | str = (checkpoint or True) if resume else False
    run = run_plan(plan, folder, resume=going_on, progress=not quiet, callbacks=callbacks)
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


def _forecast(plan: Plan, folder: Path, resume: Path | None) -> None:
    if resume is not None:
        raise RotaError("--dry-run expects a new run. Found --resume. Leave one of them out.")
    from rota.runs import forecast  # late: they load torch
    from rota.training import refuse_old

    refuse_old(folder)  # as the run itself would
    show_forecast(forecast(plan), folder, open_console())


def _planned(file: Path | None, fields: dict[str, Any]) -> Plan:
    content = read_fields(file, "steps: 600") if file is not None else {}
    return make_plan(merge_fields(content, fields), source=str(file) if file else "the flags")


def _resumed(folder: Path, file: Path | None, out: Path | None, fields: dict[str, Any]) -> tuple[Plan, Path]:
    given = [*(["FILE"] if file else []), *(["--out"] if out else [])]
    started = started_plan(folder)
    if "method" not in started:
        raise RotaError(f"{folder} was started by a program. Continue it there, with `fit(…, resume=True)`.")
    plan = make_plan(started, source=str(folder))
    if fields:
        wished = make_plan({**started, **fields}, source="the flags")
        given += [f"--{name.replace('_', '-')}" for name in fields if getattr(wished, name) != getattr(plan, name)]
    if given:
        raise RotaError(
            f"--resume expects the settings that the run was started with. Found {', '.join(given)}. "
            f"Leave that out, or start a new run with --out."
        )
    return plan, folder
