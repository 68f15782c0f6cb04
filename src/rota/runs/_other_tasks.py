"""A run that goes on with other tasks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rota.data import load_tasks
from rota.errors import RotaError, unknown_name
from rota.plans import Plan, make_plan, reading_of, tasks_of
from rota.runlog import PLAN, Run
from rota.training import Checkpoints


def plan_of_checkpoint(folder: Path, name: str | None = None) -> Plan:
    """What a run was asked for when a checkpoint was written, by default the latest: tasks may have come and gone
    since it began.

    >>> from rota.testing import written_run
    >>> run = written_run({"rte": [0.5]}, method="exp3s", finished=False)
    >>> plan_of_checkpoint(run.folder).method
    'exp3s'
    """
    run = Run(folder)
    end = Checkpoints(folder, run.started["id"]).log_end(name)
    return make_plan(run.info_at(end)["plan"], source=str(folder))


def with_other_tasks(plan: Plan, folder: Path, add: Sequence[str] = (), drop: Sequence[str] = ()) -> Plan:
    """The plan of a run that goes on with more tasks, or without some.

    Args:
        plan: What it is asked for now.
        folder: Of the run.
        add: Tasks, suites, or YAML files that describe tasks of one's own.
        drop: Names of tasks.

    >>> from rota.plans import make_plan
    >>> plan = make_plan({"tasks": ["digits"], "only": ["left", "right"], "method": "uniform"})
    >>> with_other_tasks(plan, Path("run"), add=["parity"], drop=["left"]).only
    ('right', 'parity')
    """
    if (folder / PLAN).is_file():
        raise RotaError(
            f"Tasks come and go in a run that trains once. Found {folder}, whose method {plan.method} trains others "
            f"first, on the tasks that it began with. Start a new run."
        )
    present = [task.name for task in tasks_of(plan)]
    for name in drop:
        if name not in present:
            raise unknown_name("task", name, present)
    added = [task.name for task in load_tasks(add, reading_of(plan))] if add else []
    again = [name for name in added if name in present]
    if again:
        raise RotaError(f"Expected tasks that the run does not have. Found '{again[0]}', which is one of them already.")
    stay = [name for name in present if name not in drop]
    if plan.target in drop:
        raise RotaError(f"The target of a run stays. Found '{plan.target}' to be dropped. Start a new run.")
    if not stay:
        raise RotaError("Expected at least one task that stays. Found all of them to be dropped. Start a new run.")
    known = {task.name for task in load_tasks(plan.tasks, reading_of(plan))}
    unknown = [name for name in add if not {task.name for task in load_tasks([name], reading_of(plan))} <= known]
    return plan.model_copy(update={"tasks": (*plan.tasks, *unknown), "only": (*stay, *added)})
