"""The folder of a run: made once, never overwritten, entered again with the same settings only."""

from __future__ import annotations

import errno
import hashlib
import json
import platform
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import rota
from rota.errors import SHORT, RotaError, resuming
from rota.evaluation import EvaluationBudget, RunAccess
from rota.runlog import INNER, LOCK, PLAN, RUN, SCHEMA, WRITER, Run, create_json, write_text
from rota.settings import Settings
from rota.streams import Stream
from rota.tasks import Task
from rota.training._distributed import DistributedContext
from rota.training._elastic import HARDWARE, hardware_of

STARTS = "starts.jsonl"
MOST = 5  # differences that are told
DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def disk_full(folder: Path, done: int) -> RotaError:
    """What to say when it is."""
    return RotaError(
        f"Expected room on the disk of {folder}. Found it full. Everything up to step {done} is saved: free some space "
        f"and continue with {resuming(folder)}."
    )


def refuse_old(folder: Path, inner: bool = False) -> None:
    """Refuse a folder that holds anything already, but for the trace of a run that died while it was made; and for
    inner runs, if they are its own.

    >>> from rota.testing import written_run
    >>> run = written_run({"rte": [0.5]})
    >>> try:
    ...     refuse_old(run.folder)
    ... except RotaError as error:
    ...     "which is not empty" in str(error)
    True
    """
    expected = {LOCK, WRITER} | ({PLAN, INNER} if inner else set())
    unfinished = [f"{name}.*.tmp" for name in (RUN, PLAN)]
    if folder.exists() and not folder.is_dir():
        raise RotaError(f"Expected a new folder for the run. Found {folder}, which is a file. Choose another one.")
    if not folder.is_dir():
        return
    if any(path.name not in expected and not any(map(path.match, unfinished)) for path in folder.iterdir()):
        raise _not_empty(folder)


def _not_empty(folder: Path) -> RotaError:
    return RotaError(
        f"Expected a new folder for the run. Found {folder}, which is not empty. Choose another one, or continue the "
        f"run in it with {resuming(folder)}."
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
    """How to build the model again, if it says so; a user's model need not."""
    says = getattr(model, "describe", None)
    return says() if callable(says) else None


def make_folder(folder: Path, description: dict[str, Any]) -> None:
    """Make the folder and write what was asked for, with an id that its checkpoints will carry; refuse one that another
    process has made in the meantime."""
    content = {"id": uuid.uuid4().hex, "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"), **description}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        create_json(folder / RUN, content)
    except FileExistsError as error:
        raise _not_empty(folder) from error
    except OSError as error:
        raise RotaError(f"Expected a folder that can be written at {folder}. Found: {error.strerror}.") from error


def check_same(
    run: Run,
    asked: dict[str, Any],
    description: dict[str, Any],
    last: dict[str, Any] | None = None,
    elastic: bool = False,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Refuse to go on with anything that would make it another run; the hardware that it had, and that it has.

    Args:
        run: Whose.
        asked: What it was asked for, by now.
        description: As it would go on.
        last: The hardware of its checkpoint, which may not be that of its start.
        elastic: Whether it may be another one now.
    """
    if "listen" not in run.started:
        raise RotaError(
            f"A resumed run expects the version of rota that started it. Found {run.folder}, which an earlier one "
            f"started, in another form. It can be evaluated and reported; start a new run to train."
        )
    was, hardware = last or hardware_of(run.started), hardware_of(description)
    then, now = {**_identity(asked), **was}, {**_identity(description), **hardware}
    changed = {name for name in now.keys() | then.keys() if then.get(name) != now.get(name)}
    changed -= set(HARDWARE) if elastic else set()
    if changed:
        found = [told for name in sorted(changed) for told in _differences(then.get(name), now.get(name), name)]
        told = "; ".join(found[:MOST]) + (f"; and {len(found) - MOST} more" if len(found) > MOST else "")
        other = "Start a new run for other settings."
        if changed <= set(HARDWARE):
            other = f"Go on with the same batches on this hardware: {resuming(run.folder, elastic=True)}."
        elif asked["tasks"].keys() != description["tasks"].keys():
            other = "Tasks may come and go: fit(…, resume=True, takes_over=…) with the policy that the run had."
        raise RotaError(f"A resumed run expects what it was started with. Changed: {told}. {other}")
    return was, hardware


def _differences(then: Any, now: Any, name: str = "") -> Iterator[str]:
    """What differs, by its path; of two descriptions of the same data, only the file that changed is named."""
    if then == now:
        return
    if isinstance(then, Mapping) and isinstance(now, Mapping) and then and now:
        for key in sorted(then.keys() | now.keys()):
            yield from _differences(then.get(key), now.get(key), f"{name}.{key}" if name else key)
    else:
        yield f"{name} (was {SHORT.repr(then)}, now {SHORT.repr(now)})"


def note_start(folder: Path, description: Mapping[str, Any]) -> str | None:
    """Write down with which versions, and on which data, the run starts or goes on; what to say if versions differ."""
    data = json.dumps(
        {name: [task["rows"], task["notes"]] for name, task in description["tasks"].items()}, sort_keys=True
    )
    start = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "versions": description["versions"],
        "data": hashlib.sha256(data.encode()).hexdigest(),
    }
    path = folder / STARTS
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    write_text(path, f"{before}{json.dumps(start)}\n")
    first = Run(folder).info.get("versions") or {}
    other = list(_differences(first, dict(description["versions"])))
    return f"versions: {'; '.join(other)}; numbers may differ in their last digits" if other else None


def _identity(description: dict[str, Any]) -> dict[str, Any]:
    # How it is evaluated follows from these; who fetches rows and how they are logged changes nothing.
    same = ("tasks", "policy", "mixture", "stream", "picking", "listen", "parameters", "processes", "device")
    # A run of an earlier version has no later settings, and was trained as they are by default.
    usual = {name: field.get_default() for name, field in Settings.model_fields.items()}
    plan = {
        name: value
        for name, value in {**usual, **description["plan"]}.items()
        if name not in ("num_workers", "log_rows", "tasks")
    }
    return {"shard": False, **plan, **{name: description.get(name) for name in same}}  # which older runs do not say
