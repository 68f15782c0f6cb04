"""How many updates a budget comes to, before anything is drawn."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from rota.budgets import Budget, read_budget
from rota.errors import RotaError
from rota.runlog import Ledger
from rota.settings import Settings
from rota.streams._batches_in_round import steps_of_round
from rota.streams._streams import StepKind, batches_per_pass, rows_per_step
from rota.tasks import Task

S = TypeVar("S", bound=Settings)
"""Settings, or a plan."""


def with_expected_steps(settings: S, tasks: Sequence[Task], processes: int, stream: Callable[..., Any]) -> S:
    """The settings with the number of updates that their budget about comes to. Horizons of policies and the progress
    of a run are told by it; the run ends where its budget is used.

    Args:
        settings: As asked for.
        tasks: Those with training rows.
        processes: That share a batch.
        stream: What makes the batches.

    >>> from rota.data import load_tasks
    >>> from rota.streams import TaskStream
    >>> tasks = load_tasks(["digits"])[:1]
    >>> with_expected_steps(Settings(budget="rows:3200"), tasks, 1, TaskStream).steps
    102
    """
    budget = read_budget(settings.budget)
    if budget is None:
        return settings
    sizes = {task.name: task.size() for task in tasks}
    batches = batches_per_pass(sizes, rows_per_step(tasks, settings.batch_size, settings.accumulate * processes))
    targets = [task.name for task in tasks if task.counted]
    shape: StepKind = getattr(stream.func if isinstance(stream, partial) else stream, "shape", "turns")
    steps = expected_updates(budget, sizes, batches, targets[0] if len(targets) == 1 else None, shape)
    return settings.model_copy(update={"steps": steps})


def expected_updates(
    budget: Budget, sizes: Mapping[str, int], batches: Mapping[str, int], target: str | None, shape: StepKind
) -> int:
    """About how many updates a budget comes to. Where tasks take turns, they take about as many.

    Args:
        budget: Of the run.
        sizes: Rows of each task.
        batches: Of each task, in a pass over them.
        target: The task whose passes are counted, where they are.
        shape: Who is in the steps.

    >>> sizes, batches = {"rte": 2490, "cb": 250}, {"rte": 78, "cb": 8}
    >>> budget, shapes = Budget("passes-of-target", 2), ("turns", "joint", "rounds")
    >>> [expected_updates(budget, sizes, batches, "rte", own) for own in shapes]
    [312, 156, 172]
    """
    each = [sizes[task] / batches[task] for task in sizes]
    match budget.unit:
        case "kept-rounds":
            updates = budget.amount * (steps_of_round(batches) if shape == "joint" else sum(batches.values()))
        case "passes-of-target":
            if target is None:
                raise RotaError(
                    f"Settings(budget='{budget.told}') expects one target. Found none. Choose it with Plan(target=…), "
                    f"or say rows:N."
                )
            own = {"turns": batches[target] * len(batches), "joint": batches[target], "rounds": sum(batches.values())}
            updates = budget.amount * own[shape]
        case _:
            rows = budget.amount / (1 if budget.unit == "rows" else 1 + Ledger.BACKWARD)
            updates = rows / (sum(each) if shape == "joint" else statistics.fmean(each))
    return max(1, math.ceil(updates))
