"""The tasks of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rota.data import Reading, load_tasks, pack_rows
from rota.errors import unknown_name
from rota.models import tokenizer_name
from rota.plans._plan import Plan
from rota.tasks import Task, adjust_tasks, cut_dev, halve_dev, limit_rows
from rota.turns import shared


def reading_of(plan: Plan) -> Reading:
    """Where the texts of a plan are found and how they are cut.

    >>> from rota.plans import make_plan
    >>> reading = reading_of(make_plan({"tasks": ["rte"], "model": "roberta-base", "longest": 64}))
    >>> reading.encoder, reading.longest
    ('roberta-base', 64)
    """
    return Reading(Path(plan.data) if plan.data else None, tokenizer_name(plan.model), plan.longest)


def tasks_of(plan: Plan) -> list[Task]:
    """The tasks of a plan, with the rows and the changes that it asks for.

    >>> from rota.plans import make_plan
    >>> [task.name for task in tasks_of(make_plan({"tasks": ["digits"], "only": ["left", "right"]}))]
    ['left', 'right']
    """
    reading = reading_of(plan)
    read = shared(("tasks", tuple(plan.tasks), reading), lambda: load_tasks(plan.tasks, reading))
    tasks = limit_rows(read, plan.rows)
    if plan.pack:
        tasks = [pack_rows(task, reading.room) for task in tasks]
    if plan.halve_dev:
        tasks = halve_dev(tasks)
    if plan.cut_dev is not None:
        tasks = cut_dev(tasks, plan.cut_dev)
    changes = {name: change.model_dump(exclude_unset=True) for name, change in plan.per_task.items()}
    tasks = _only(adjust_tasks(tasks, changes), plan.only)
    if plan.target is None:
        return tasks
    names = [task.name for task in tasks if task.trained]
    if plan.target not in names:
        raise unknown_name("target", plan.target, names)
    return [replace(task, auxiliary=task.name != plan.target) for task in tasks]


def _only(tasks: list[Task], names: Sequence[str]) -> list[Task]:
    known = [task.name for task in tasks]
    for name in names:
        if name not in known:
            raise unknown_name("task", name, known)
    return [task for task in tasks if not names or task.name in names]
