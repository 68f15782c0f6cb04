"""A run that one can touch: for tests of sources and streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accelerate import Accelerator
from torch import nn

from rota.draws import Shard
from rota.engine import make_engine
from rota.evaluation import RunAccess, evaluation_tasks
from rota.policies import Policy, uniform
from rota.settings import Settings
from rota.streams import rows_per_step
from rota.tasks import Task


def access_to(model: nn.Module, tasks: Sequence[Task], policy: Policy | None = None, **settings: Any) -> RunAccess:
    """What sources and streams may use of a run, without the run: one process on a CPU, nothing captured.

    Args:
        model: Answers `model(task, inputs)`.
        tasks: Of the run.
        policy: Over those with training rows; uniform by default.
        settings: Fields of `Settings`.

    >>> import torch
    >>> from rota.tasks import Task
    >>> task = Task.from_dataset("signs", (torch.randn(100, 3), torch.arange(100) % 2))
    >>> access_to(torch.nn.Linear(3, 2), [task], steps=50).settings.steps
    50
    """
    plan = Settings(**{"engine": "eager", "precision": "no", "delay": 0, **settings})
    trained = [task for task in tasks if task.trained]
    return RunAccess(
        engine=make_engine(model, tasks, plan, Accelerator(cpu=True)),
        settings=plan,
        policy=policy or uniform([task.name for task in trained]),
        tasks=trained,
        evaluated=evaluation_tasks(tasks, plan.eval_rows),
        rows=rows_per_step(trained, plan.batch_size),
        shard=Shard(),
        gather=lambda own: [own],
    )
