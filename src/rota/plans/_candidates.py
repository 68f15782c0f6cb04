"""Which tasks may help a target?  AutoSeM's answer, before anything is tried."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rota.plans._plan import Plan
from rota.plans._plan_tasks import tasks_of
from rota.tasks import Classification, Task

LOOKED_AT = 64
"""Rows of a task that say whether it has one text or two."""


def tasks_alike(tasks: Sequence[Task], target: str) -> list[str]:
    """The target and the candidates for it, as in the paper: where the target classifies, the tasks that classify;
    where it classifies pairs of texts, those that do so, too. For any other target all tasks are candidates.

    >>> from rota.data import load_tasks
    >>> tasks = load_tasks(["toytext"])
    >>> [task.name for task in tasks]
    ['mood', 'follows', 'howmany', 'where', 'roles', 'who']
    >>> tasks_alike(tasks, "mood")  # which classifies
    ['mood', 'follows']
    """
    own = next(task for task in tasks if task.name == target)
    if type(own.kind) is not Classification:
        return [task.name for task in tasks]
    alike = [task for task in tasks if type(task.kind) is Classification]
    if has_pairs(own):
        alike = [task for task in alike if has_pairs(task)]
    return [task.name for task in alike]


def candidates_of(plan: Plan, which: str) -> tuple[list[str], list[str]]:
    """The target of a plan and its candidates ("alike" ones or "all"), and the tasks that are left out.

    >>> from rota.plans import make_plan
    >>> candidates_of(make_plan({"tasks": ["digits"], "target": "left"}), "alike")
    (['left', 'right', 'larger', 'parity', 'noise'], [])
    """
    tasks = [task for task in tasks_of(plan) if task.trained]
    assert plan.target is not None
    kept = tasks_alike(tasks, plan.target) if which == "alike" else [task.name for task in tasks]
    return kept, [task.name for task in tasks if task.name not in kept]


def has_pairs(task: Task) -> bool:
    """Whether its rows are pairs of texts."""
    if not task.size():
        return False
    types = task.splits["train"].batch(np.arange(min(LOOKED_AT, task.size()))).inputs.get("types")
    return types is not None and bool(types.any())
