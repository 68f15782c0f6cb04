"""Scores of finished runs at their best checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rota.analysis._groups import Group, counted_tasks
from rota.analysis._run_history import AVERAGE, Key
from rota.analysis._spreads import Spread, spread
from rota.runlog import Run


def score(run: Run, split: str, key: Key = AVERAGE) -> float | None:
    """The score of a task, or the average over those that count; None where there is none.

    >>> from rota.testing import written_run
    >>> run = written_run({"rte": [0.5, 0.6], "mrpc": [0.7, 0.9]})
    >>> score(run, "dev"), score(run, "dev", "rte"), score(run, "test")
    (0.75, 0.6, None)
    """
    result: dict[str, Any] = run.summary["best"].get(split) or {"average": None, "tasks": {}}
    found = result["average"] if key is AVERAGE else result["tasks"].get(key, {}).get("score")
    return None if found is None else float(found)


def scores(group: Group, split: str, key: Key = AVERAGE) -> Spread:
    """Over the finished runs of a group.

    >>> from rota.testing import written_run
    >>> runs = [written_run({"rte": [score]}, seed=seed) for seed, score in enumerate([0.5, 0.6, 0.7])]
    >>> found = scores(Group("uniform", tuple(runs)), "dev", "rte")
    >>> round(found.mean, 3), round(found.std, 3), found.n
    (0.6, 0.1, 3)
    """
    return spread(score(run, split, key) for run in group.finished)


def split_of(groups: Sequence[Group], key: Key = AVERAGE) -> str:
    """The split to show: "test" if the runs have a score there (of the average: of every task that counts), else
    "dev". An average over some of the tasks would say little."""
    runs = [run for group in groups for run in group.finished]
    if key is AVERAGE:
        found = [score(run, "test", task) is not None for run in runs for task in counted_tasks(run)]
        return "test" if found and all(found) else "dev"
    return "test" if any(score(run, "test", key) is not None for run in runs) else "dev"


def by_seed(group: Group, split: str, key: Key = AVERAGE) -> dict[int, float]:
    """The score of each seed; the mean of its runs where a seed ran twice."""
    found: dict[int, list[float]] = {}
    for run in group.finished:
        value = score(run, split, key)
        if value is not None:
            found.setdefault(run.plan.get("seed", 0), []).append(value)
    return {seed: float(np.mean(values)) for seed, values in found.items()}
