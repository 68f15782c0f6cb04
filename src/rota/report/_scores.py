"""Scores of finished runs at their best checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rota.report._groups import Group
from rota.report._history import AVERAGE, Key
from rota.report._numbers import Spread, spread
from rota.report._paired import Difference, paired
from rota.runlog import Run

BASELINE = "uniform"


def score(run: Run, split: str, key: Key = AVERAGE) -> float | None:
    """The score of a task, or the average over those that count; None where there is none."""
    result: dict[str, Any] = run.summary["best"].get(split) or {"average": None, "tasks": {}}
    found = result["average"] if key is AVERAGE else result["tasks"].get(key, {}).get("score")
    return None if found is None else float(found)


def scores(group: Group, split: str, key: Key = AVERAGE) -> Spread:
    """Over the finished runs of a group."""
    return spread(score(run, split, key) for run in group.finished)


def split_of(groups: Sequence[Group], key: Key = AVERAGE) -> str:
    """The split to show: "test" if any run has a score there, else "dev"."""
    found = any(score(run, "test", key) is not None for group in groups for run in group.finished)
    return "test" if found else "dev"


def by_seed(group: Group, split: str) -> dict[int, float]:
    """The average score of each seed; the mean of its runs where a seed ran twice."""
    found: dict[int, list[float]] = {}
    for run in group.finished:
        value = score(run, split)
        if value is not None:
            found.setdefault(run.plan.get("seed", 0), []).append(value)
    return {seed: float(np.mean(values)) for seed, values in found.items()}


@dataclass(frozen=True)
class Ranking:
    """Which group has the highest average, and against which one it is judged.

    Args:
        split: Where the scores are from.
        best: None if no run is finished, or if the averages are over different tasks.
        other: `uniform` if it ran, else the second best; None if there is nothing to compare with.
        comparable: Whether all averages are over the same tasks.
        noise: Standard deviation over seeds, pooled over groups; not a number without a repeated seed.
    """

    split: str
    best: Group | None
    other: Group | None
    comparable: bool
    noise: float

    def difference(self, group: Group, other: Group) -> Difference:
        return paired(by_seed(group, self.split), by_seed(other, self.split))


def rank(groups: Sequence[Group]) -> Ranking:
    """Order the groups by their average score."""
    split = split_of(groups)
    spreads = {group.name: scores(group, split) for group in groups}
    scored = sorted(
        (group for group in groups if spreads[group.name].n), key=lambda group: spreads[group.name].mean, reverse=True
    )
    averaged = {_averaged(run, split) for group in scored for run in group.finished if score(run, split) is not None}
    variances = [own.std**2 for own in spreads.values() if own.n > 1]
    noise = float(np.sqrt(np.mean(variances))) if variances else np.nan
    if not scored or len(averaged) > 1:
        return Ranking(split, None, None, len(averaged) <= 1, noise)
    best, rest = scored[0], scored[1:]
    baseline = [group for group in rest if group.name == BASELINE]
    return Ranking(split, best, next(iter(baseline or rest), None), True, noise)


def _averaged(run: Run, split: str) -> frozenset[str]:
    """The tasks that an average is over: those that count and have rows in that split."""
    result = run.summary["best"].get(split) or {"tasks": {}}
    return frozenset(task for task in result["tasks"] if not run.info["tasks"][task].get("auxiliary"))
