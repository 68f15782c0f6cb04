"""From a plan to a finished run folder."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from rota import signals
from rota.data import load_tasks
from rota.errors import unknown_name
from rota.methods._method import Given, Method
from rota.methods._plan import Plan
from rota.methods._table import METHODS
from rota.models import MultiTaskModel, encoder_for
from rota.runlog import Run
from rota.seeds import integer
from rota.streams import JointStream, Stream, TaskStream, batches_per_pass
from rota.tasks import check_tasks, limit_rows
from rota.training import fit

STREAMS: dict[str, type[Stream]] = {"task": TaskStream, "joint": JointStream}


def run_plan(plan: Plan, folder: Path, *, resume: bool | str = False, progress: bool = True) -> Run:
    """Do what the plan says and keep it in `folder`.

    Args:
        plan: What to do.
        folder: A new run folder, or with `resume` an existing one.
        resume: True, or the name of the checkpoint to continue from.
        progress: Whether to show a progress bar.
    """
    method = METHODS.get(plan.method)
    if method is None:
        raise unknown_name("method", plan.method, METHODS)
    return _train_once(method, plan, folder, resume, progress)


def _train_once(method: Method, plan: Plan, folder: Path, resume: bool | str, progress: bool) -> Run:
    """A method that is one training."""
    tasks = limit_rows(load_tasks(plan.tasks), plan.rows)
    check_tasks(tasks)  # before a policy meets their sizes
    sizes = {task.name: task.size() for task in tasks}
    processes = int(os.environ.get("WORLD_SIZE", 1))  # as torchrun says; each works on its part of a batch
    batches = batches_per_pass(sizes, plan.batch_size * plan.accumulate * processes)
    policy = method.policy(Given(sizes, batches, plan.steps, plan.seed), plan.options)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(integer(plan.seed, "initialisation"))
        model = MultiTaskModel(encoder_for(tasks, plan.dropout), tasks)
    return fit(
        model,
        tasks,
        policy,
        folder,
        plan,
        stream=STREAMS[method.stream],
        signal=getattr(signals, method.signal) if method.signal else None,
        resume=resume,
        progress=progress,
    )
