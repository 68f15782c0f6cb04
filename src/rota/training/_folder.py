"""The folder of a run: made once, never overwritten, entered again with the same settings only."""

from __future__ import annotations

import platform
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

import rota
from rota.errors import RotaError
from rota.policies import Policy
from rota.runlog import RUN, SCHEMA, Run, write_json
from rota.settings import Settings
from rota.tasks import Task
from rota.training._session import Session


def refuse_old(folder: Path) -> None:
    """Refuse a folder that holds anything already (but for the trace of a run that died while it was made)."""
    if folder.exists() and not folder.is_dir():
        raise RotaError(f"Expected a new folder for the run. Found {folder}, which is a file. Choose another one.")
    if folder.is_dir() and any(path.name != f"{RUN}.tmp" for path in folder.iterdir()):
        raise RotaError(
            f"Expected a new folder for the run. Found {folder}, which is not empty. Choose another one, or continue "
            f"the run in it with `rota train --resume {folder}`."
        )


def make_folder(
    folder: Path, settings: Settings, tasks: Sequence[Task], policy: Policy, model: nn.Module, session: Session
) -> None:
    """Make the folder and write what was asked for."""
    content = {
        "schema": SCHEMA,
        "id": uuid.uuid4().hex,
        "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "plan": settings.model_dump(mode="json"),
        "tasks": {
            task.name: {
                "kind": repr(task.kind),
                "auxiliary": task.auxiliary,
                "rows": {split: task.size(split) for split in task.splits},
            }
            for task in tasks
        },
        "policy": type(policy).__name__,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "processes": session.shard.world,
        "threads": torch.get_num_threads(),
        "device": session.accelerator.device.type,
        "versions": {
            "rota": rota.__version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
        },
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / RUN, content)
    except OSError as error:
        raise RotaError(f"Expected a folder that can be written at {folder}. Found: {error.strerror}.") from error


def check_same(run: Run, settings: Settings, session: Session) -> None:
    """Refuse to go on with other settings or another number of processes."""
    now = {**settings.model_dump(mode="json"), "num_workers": None}  # how rows are fetched changes nothing
    then = {**run.plan, "num_workers": None}
    changed = [
        f"{name} (was {then.get(name)!r}, now {now.get(name)!r})"
        for name in sorted(now.keys() | then.keys())
        if then.get(name) != now.get(name)
    ]
    if changed:
        raise RotaError(
            f"A resumed run expects the settings that it was started with. Changed: {'; '.join(changed)}. "
            f"Start a new run for other settings."
        )
    if run.info["processes"] != session.shard.world:
        raise RotaError(
            f"{run.folder} expects {run.info['processes']} process(es), as it was started with. "
            f"Found {session.shard.world}."
        )
