"""The folder of a run: made once, never overwritten, entered again with the same settings only."""

from __future__ import annotations

import errno
import platform
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import rota
from rota.errors import RotaError, resuming
from rota.evaluation import EvaluationBudget, RunAccess
from rota.runlog import INNER, PLAN, RUN, SCHEMA, Run, write_json
from rota.streams import Stream
from rota.tasks import Task
from rota.training._distributed import DistributedContext

DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def disk_full(folder: Path, done: int) -> RotaError:
    """What to say when it is."""
    return RotaError(
        f"Expected room on the disk of {folder}. Found it full. Everything up to step {done} is saved: free some space "
        f"and continue with {resuming(folder)}."
    )


def refuse_old(folder: Path, inner: bool = False) -> None:
    """Refuse a folder that holds anything already, but for the trace of a run that died while it was made; and for
    inner runs, if they are its own."""
    expected = {PLAN, INNER} if inner else set()
    unfinished = f"{RUN}.*.tmp"
    if folder.exists() and not folder.is_dir():
        raise RotaError(f"Expected a new folder for the run. Found {folder}, which is a file. Choose another one.")
    if folder.is_dir() and any(path.name not in expected and not path.match(unfinished) for path in folder.iterdir()):
        raise RotaError(
            f"Expected a new folder for the run. Found {folder}, which is not empty. Choose another one, or continue "
            f"the run in it with {resuming(folder)}."
        )


def describe(
    run: RunAccess,
    tasks: Sequence[Task],
    stream: Stream,
    listen: Sequence[Mapping[str, Any]],
    budget: EvaluationBudget,
    context: DistributedContext,
) -> dict[str, Any]:
    """What was asked for, as `run.json` holds it."""
    policy, model = run.policy, run.model
    return {
        "schema": SCHEMA,
        "plan": run.settings.model_dump(mode="json"),
        "tasks": {
            task.name: {
                "kind": repr(task.kind),
                "unit": task.kind.unit,
                "auxiliary": not task.counted,
                "rows": {split: task.size(split) for split in task.splits},
                "batch_size": task.batch_size,
                "loss_weight": task.loss_weight,
                "stop_after": task.stop_after,
                "notes": dict(task.notes),
            }
            for task in tasks
        },
        "policy": type(policy).__name__,
        "mixture": policy.expected_shares(0),
        "stream": type(stream).__name__,
        "picking": stream.describe(),
        "listen": list(listen),
        "evaluation": asdict(budget),
        "model": describe_model(model),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "processes": context.shard.world,
        "threads": torch.get_num_threads(),
        "device": context.accelerator.device.type,
        "versions": {
            "rota": rota.__version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
        },
    }


def describe_model(model: nn.Module) -> dict[str, Any] | None:
    """How to build the model again, if it says so; a model of somebody's own need not."""
    says = getattr(model, "describe", None)
    return says() if callable(says) else None


def make_folder(folder: Path, description: dict[str, Any]) -> None:
    """Make the folder and write what was asked for, with an id that its checkpoints will carry."""
    content = {"id": uuid.uuid4().hex, "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"), **description}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / RUN, content)
    except OSError as error:
        raise RotaError(f"Expected a folder that can be written at {folder}. Found: {error.strerror}.") from error


def check_same(run: Run, description: dict[str, Any]) -> None:
    """Refuse to go on with anything that would make it another run."""
    if "listen" not in run.info:
        raise RotaError(
            f"A resumed run expects the version of rota that started it. Found {run.folder}, which an earlier one "
            f"started, in another form. It can be evaluated and reported; start a new run to train."
        )
    then, now = _identity(run.info), _identity(description)
    changed = [
        f"{name} (was {then.get(name)!r}, now {now.get(name)!r})"
        for name in sorted(now.keys() | then.keys())
        if then.get(name) != now.get(name)
    ]
    if changed:
        raise RotaError(
            f"A resumed run expects what it was started with. Changed: {'; '.join(changed)}. "
            f"Start a new run for other settings."
        )


def _identity(description: dict[str, Any]) -> dict[str, Any]:
    # How it is evaluated follows from these.
    same = ("tasks", "policy", "mixture", "stream", "picking", "listen", "parameters", "processes", "device")
    plan = {name: value for name, value in description["plan"].items() if name not in ("num_workers", "tasks")}
    return {**plan, **{name: description.get(name) for name in same}}
