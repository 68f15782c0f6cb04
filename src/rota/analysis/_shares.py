"""Which share of the updates each task had in the course of a run, and what plain mixtures would have given it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rota.analysis._mean_curves import MeanCurve, mean_curve
from rota.analysis._run_history import RunHistory
from rota.arrays import Floats
from rota.runlog import Run

FEWEST, MOST = 4, 40  # stretches that a run is cut into, where shares are counted
VISITS = 5  # of a task with an equal share in one stretch: fewer say little
PLAIN = {"uniform": 0.0, "size^0.5": 0.5, "size": 1.0}
"""Mixtures that need no learning, and the power of the number of rows that they are."""


@dataclass(frozen=True)
class ShareCourses:
    """What the tasks of a group had, mean over runs.

    Args:
        courses: By task, over the updates. A task that the group does not have is absent.
        overall: By task, its share of all turns; a joint step is a turn of every task in it.
        intended: Whether the courses are what the policy held at the evaluations (in joint training the weight); else
            they are counted, stretch by stretch.

    >>> from rota.analysis import read_history
    >>> from rota.testing import written_run
    >>> found = share_courses([read_history(written_run({"rte": [0.5], "mnli": [0.6]}, every=40))])
    >>> found.intended, found.courses["rte"].steps.tolist()  # counted, in stretches of ten updates
    (False, [5, 15, 25, 35])
    """

    courses: dict[str, MeanCurve]
    overall: dict[str, float]
    intended: bool


def share_courses(histories: Sequence[RunHistory]) -> ShareCourses:
    """The mixtures that the logs tell of, or else the turns that were taken.

    >>> from rota.analysis import read_history
    >>> from rota.testing import written_run
    >>> runs = [written_run({"rte": [0.5], "mnli": [0.6]}, seed=seed, every=40) for seed in range(2)]
    >>> share_courses([read_history(run) for run in runs]).overall
    {'rte': 0.5, 'mnli': 0.5}
    """
    tasks = tuple(dict.fromkeys(task for history in histories for task in history.tasks))
    counts = [_turns(history, tasks, np.array([0.0, np.inf]))[:, 0] for history in histories]
    known = [own / own.sum() for own in counts if own.sum()]
    overall = dict(zip(tasks, np.mean(known, axis=0).tolist(), strict=True)) if known else {}
    intended = all(len({step for own in history.mixture.values() for step in own}) > 1 for history in histories)
    shares = [dict(history.mixture) for history in histories] if intended else _counted(histories, tasks)
    courses = {task: mean_curve([own.get(task, {}) for own in shares]) for task in tasks}
    return ShareCourses({task: curve for task, curve in courses.items() if len(curve.steps)}, overall, intended)


def plain_mixtures(runs: Iterable[Run]) -> dict[str, dict[str, float]]:
    """What plain mixtures give to each task that has training rows; those by size only where all sizes are known.

    Args:
        runs: Of any methods. Those with the most tasks say which tasks there are.

    >>> from rota.testing import written_run
    >>> plain_mixtures([written_run({"rte": [0.5], "mnli": [0.6]})])["size"]  # both have 100 rows
    {'rte': 0.5, 'mnli': 0.5}
    """
    known: dict[str, Any] = max((run.info["tasks"] for run in runs), key=len, default={})
    rows = {task: (info.get("rows") or {}).get("train") for task, info in known.items()}
    sizes = {task: float(size) if size is not None else np.nan for task, size in rows.items() if size != 0}
    powers = {name: {task: size**power for task, size in sizes.items()} for name, power in PLAIN.items()}
    totals = {name: sum(own.values()) for name, own in powers.items()}
    return {
        name: {task: share / totals[name] for task, share in own.items()}
        for name, own in powers.items()
        if totals[name] > 0  # not so where a size is no number
    }


def departure(curve: MeanCurve, plain: Sequence[float]) -> float:
    """How far a share is from the nearest plain one, mean over the course.

    >>> departure(mean_curve([{0: 0.5, 10: 0.25, 20: 0.75}]), [0.5, 0.25])
    0.08333333333333333
    """
    if not len(curve.steps) or not plain:
        return 0.0
    return float(np.abs(curve.mean[:, None] - np.array(plain)).min(axis=1).mean())


def _counted(histories: Sequence[RunHistory], tasks: Sequence[str]) -> list[dict[str, dict[int, float]]]:
    """Of each run the shares of the turns, by task and by the middle of the stretch; the same stretches for all."""
    length = max((last + 1 for history in histories for last, _ in history.turns[-1:]), default=0)
    number = min(int(np.clip(length // (VISITS * max(len(tasks), 1)), FEWEST, MOST)), length)
    edges = np.unique(np.linspace(0, length, number + 1).round())
    found = []
    for history in histories:
        turns = _turns(history, tasks, edges)
        totals = turns.sum(axis=0)
        seen = np.flatnonzero(totals)
        middles = ((edges[seen] + edges[seen + 1]) / 2).round().astype(int).tolist()
        shares = turns[:, seen] / totals[seen]
        own = {task: dict(zip(middles, row.tolist(), strict=True)) for task, row in zip(tasks, shares, strict=True)}
        found.append({task: own[task] for task in history.tasks})
    return found


def _turns(history: RunHistory, tasks: Sequence[str], edges: Floats) -> Floats:
    """How many turns each task had in each stretch: tasks × stretches."""
    place: Mapping[str, int] = {task: row for row, task in enumerate(tasks)}
    pairs = [(step, place[task]) for step, chosen in history.turns for task in chosen]
    counts = np.zeros((len(tasks), max(len(edges) - 1, 0)))
    if pairs and counts.size:
        steps, rows = np.array(pairs).T
        np.add.at(counts, (rows, np.searchsorted(edges, steps, side="right") - 1), 1.0)
    return counts
