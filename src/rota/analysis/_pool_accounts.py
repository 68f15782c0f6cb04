"""What methods picked from pools of candidates, and how much of the data they used (Pilault et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rota.analysis._balance import Reached, reached, scores_alone, sigma
from rota.analysis._data_use import PoolCourse, RowsUsed, makes_pools, read_course
from rota.analysis._groups import Group
from rota.analysis._spreads import Spread, spread


@dataclass(frozen=True)
class DataShare:
    """How much of the training rows was used, over seeds.

    Args:
        unique: Different rows in updates, as a share of those there are.
        epochs: Examples in updates for each row.
        scored: Candidates that were looked at for each row.

    >>> from rota.analysis import spread
    >>> share = DataShare(unique=spread([0.5, 0.7]), epochs=spread([1.0, 1.2]), scored=spread([8.0, 9.6]))
    >>> round(share.scored.mean / share.epochs.mean)  # candidates for each example in an update
    8
    """

    unique: Spread
    epochs: Spread
    scored: Spread


@dataclass(frozen=True)
class TaskUse:
    """What a task had of the updates, over seeds.

    Args:
        share: Of the examples in updates.
        data: Of its own rows.
        first_peak: The first step at which its examples in the batch are at a local maximum, see `first_peak`.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> pool = {"kind": "pool", "step": 0, "tasks": {"rte": {"candidates": 50, "uncertainty": 0.4}}}
    >>> [account] = pool_accounts(group_runs([written_run({"rte": [0.5], "mnli": [0.6]}, every=1, lines=[pool])]))
    >>> account.tasks["rte"].share.mean, account.tasks["rte"].data.scored.mean
    (1.0, 0.5)
    """

    share: Spread
    data: DataShare
    first_peak: Spread


@dataclass(frozen=True)
class PoolAccount:
    """Of a group with several tasks.

    Args:
        group: Whose runs.
        courses: What their logs say, of each run.
        tasks: What each task had, over the finished runs; empty where none is.
        total: The same of all tasks together.
        sigma: Task σ of the dev scores, over the finished runs.
        reached: How many tasks are as good on dev as where they were trained alone.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> pool = {"kind": "pool", "step": 0, "tasks": {"rte": {"candidates": 50, "uncertainty": 0.4}}}
    >>> [account] = pool_accounts(group_runs([written_run({"rte": [0.5], "mnli": [0.6]}, every=1, lines=[pool])]))
    >>> account.picks, account.total.unique.mean, round(account.sigma.mean, 3)
    (True, 0.01, 0.05)
    """

    group: Group
    courses: list[PoolCourse]
    tasks: dict[str, TaskUse]
    total: DataShare
    sigma: Spread
    reached: Reached

    @property
    def picks(self) -> bool:
        """Whether there was a pool."""
        return any(course.pools for course in self.courses)


def pool_accounts(groups: Sequence[Group]) -> list[PoolAccount]:
    """Of all groups with several tasks, whether they pick or not; none where nobody picks.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> pool = {"kind": "pool", "step": 0, "tasks": {"rte": {"candidates": 50, "uncertainty": 0.4}}}
    >>> runs = [written_run({"rte": [0.5], "mnli": [0.6]}, method="mt-uncertainty", every=1, lines=[pool])]
    >>> [account.group.name for account in pool_accounts(group_runs(runs))]
    ['mt-uncertainty']
    >>> pool_accounts(group_runs([written_run({"rte": [0.5], "mnli": [0.6]})]))
    []
    """
    several = [group for group in groups if len(group.runs[0].info["tasks"]) > 1]
    if not any(makes_pools(run) for group in several for run in group.runs):
        return []
    alone, found = scores_alone(groups, "dev"), []
    for group in several:
        courses = [read_course(run) for run in group.runs]
        finished = [course for run, course in zip(group.runs, courses, strict=True) if run.finished]
        found.append(
            PoolAccount(
                group,
                courses,
                {task: _task_use(finished, task) for task in courses[0].used} if finished else {},
                _data_share([course.total for course in finished]),
                _known(sigma(run, "dev") for run in group.finished),
                reached(group, alone, "dev"),
            )
        )
    return found


def _task_use(courses: Sequence[PoolCourse], task: str) -> TaskUse:
    own, totals = [course.used[task] for course in courses], [course.total for course in courses]
    share = [used.examples / total.examples for used, total in zip(own, totals, strict=True) if total.examples]
    return TaskUse(_known(share), _data_share(own), _known(course.first_peak(task) for course in courses))


def _data_share(used: Sequence[RowsUsed]) -> DataShare:
    return DataShare(
        _known(own.per_row(own.unique) for own in used),
        _known(own.per_row(own.examples) for own in used),
        _known(own.per_row(own.candidates) for own in used),
    )


def _known(values: Iterable[float | None]) -> Spread:
    """Over the values that are numbers."""
    return spread(value for value in values if value is not None and np.isfinite(value))
