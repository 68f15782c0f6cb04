"""How even the tasks of a run are: their spread, and whether each is as good as where it was trained alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rota.analysis._checkpoint_scores import score, scores
from rota.analysis._groups import Group, counted_tasks
from rota.analysis._spreads import task_spread
from rota.averages import score_entries
from rota.runlog import Run

SLACK = 1e-9  # a mean of equal scores may be rounded up


@dataclass(frozen=True)
class Reached:
    """How many tasks are as good as alone.

    Args:
        counts: Of each finished run.
        tasks: How many were trained alone.

    >>> found = Reached(counts=[2, 3], tasks=3)  # two seeds; three tasks were trained alone as well
    >>> f"{sum(found.counts) / len(found.counts)} of {found.tasks}"
    '2.5 of 3'
    """

    counts: list[int]
    tasks: int

    def __bool__(self) -> bool:
        return bool(self.counts and self.tasks)


def sigma(run: Run, split: str) -> float | None:
    """Task σ across the metrics of the tasks that count and have rows in this split, as Pilault et al. 2021 count them:
    F1 and accuracy of MRPC are two entries, and so are both parts of MNLI. None where a task has no score."""
    tasks = (run.summary["best"].get(split) or {"tasks": {}})["tasks"]
    found = [entry for task in counted_tasks(run) if task in tasks for entry in score_entries(tasks[task])]
    present = [value for value in found if value is not None]
    return task_spread(present) if present and len(present) == len(found) else None


def scores_alone(groups: Sequence[Group], split: str) -> dict[str, float]:
    """Scores of tasks that were trained alone: means over seeds, of the best group where several did it."""
    found: dict[str, float] = {}
    for group in groups:
        task, *others = group.runs[0].info["tasks"]
        if not others and (own := scores(group, split, task)).n:
            found[task] = max(own.mean, found.get(task, own.mean))
    return found


def reached(group: Group, alone: Mapping[str, float], split: str) -> Reached:
    """How many of the tasks that count are no lower than alone."""
    known = [task for task in counted_tasks(group.runs[0]) if task in alone]
    found = [{task: score(run, split, task) for task in known} for run in group.finished]
    return Reached(
        [sum(value is not None and value >= alone[task] - SLACK for task, value in own.items()) for own in found],
        len(known),
    )
