"""`rota train`: one run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from rota.cli._fields import pairs, read_fields, with_plan_flags
from rota.cli._improve import read_mixture
from rota.cli._tables import score_table
from rota.errors import RotaError
from rota.methods import Plan, make_plan, merge_fields
from rota.runlog import SUMMARY, started_plan

USUAL = "auto"
"""The method of whoever names none: above `uniform` on GLUE and SuperGLUE at the same cost (docs/results/auto.md)."""


@with_plan_flags
def train(
    file: Annotated[Path | None, typer.Argument(help="a YAML file with the fields below; flags win over it")] = None,
    out: Annotated[Path | None, typer.Option(help="new folder for the run [dim](runs/METHOD-SEED)[/dim]")] = None,
    resume: Annotated[Path | None, typer.Option(help="continue the run in this folder, with its own settings")] = None,
    checkpoint: Annotated[str | None, typer.Option(help="with --resume: continue from this checkpoint")] = None,
    weights: Annotated[
        str | None,
        typer.Option(metavar="NAME=VALUE", help="of the tasks, for methods fixed, cycle and joint: left=2,right=1"),
    ] = None,
    mixture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="weights from a file of `rota improve`; method fixed by default")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="of method counterfactual: trainings after the one that is logged")
    ] = None,
    log: Annotated[
        list[Path] | None,
        typer.Option(metavar="RUN", help="of method counterfactual: a finished run to learn from; may be repeated"),
    ] = None,
    uncertainty_rows: Annotated[
        int | None, typer.Option(min=1, help="of methods with surveys: dev rows of a task in a survey, at most")
    ] = None,
    candidates: Annotated[
        int | None, typer.Option(min=1, help="of method mt-uncertainty: rows of a task in a pool")
    ] = None,
    score_every: Annotated[
        int | None, typer.Option(min=1, help="of method mt-uncertainty: steps that one pool serves")
    ] = None,
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
        if weights is not None:
            raise RotaError("Expected --mixture or --weights. Found both.")
        fields.setdefault("method", "fixed")
        fields["options"] = {**fields.get("options", {}), "weights": read_mixture(mixture)}
    if weights is not None:
        fields["options"] = {**fields.get("options", {}), "weights": pairs(weights, "weights")}
    shortcuts = {
        "rounds": rounds,
        "logs": [str(own) for own in log or ()],
        "rows": uncertainty_rows,
        "candidates": candidates,
        "every": score_every,
    }
    for option, value in shortcuts.items():
        if value:
            fields["options"] = {**fields.get("options", {}), option: value}
    if resume is not None:
        plan, folder = _resumed(resume, file, out, fields)
    elif checkpoint is not None:
        raise RotaError("--checkpoint expects --resume FOLDER beside it. Found none.")
    else:
        plan = _planned(file, fields)
        folder = out or Path("runs") / f"{plan.method}-{plan.seed}"
    from rota.methods import run_plan  # late: it loads torch

    done = resume is not None and (folder / SUMMARY).is_file()
    run = run_plan(plan, folder, resume=(checkpoint or True) if resume else False, progress=not quiet)
    if not quiet and int(os.environ.get("RANK", 0)) == 0:
        console = Console()
        if done:
            console.print(f"{folder} is finished already.", highlight=False, markup=False)
        console.print(score_table(run))
        if run.summary["surveying"]:
            share = run.summary["surveying"] / run.summary["seconds"]
            console.print(f"Surveys took {share:.0%} of the time.", highlight=False)
        where = f"The run is in {folder}. See it with: rota report {folder}"
        console.print(where, highlight=False, markup=False, soft_wrap=True)


def _planned(file: Path | None, fields: dict[str, Any]) -> Plan:
    content = read_fields(file, "steps: 600") if file is not None else {}
    merged = merge_fields(content, fields)
    if merged.get("target") is None:  # for one target nobody has shown that it is better
        merged.setdefault("method", USUAL)
    return make_plan(merged, source=str(file) if file else "the flags")


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
