"""Scores of finished runs at their best checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rota.report._groups import Group, counted_tasks
from rota.report._history import AVERAGE, Key
from rota.report._numbers import Spread, spread
from rota.report._paired import Difference, Interval, paired
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
    """The split to show: "test" if the runs have a score there (of the average: of every task that counts), else
    "dev". An average over some of the tasks would say little."""
    runs = [run for group in groups for run in group.finished]
    if key is AVERAGE:
        found = [score(run, "test", task) is not None for run in runs for task in counted_tasks(run)]
        return "test" if found and all(found) else "dev"
    return "test" if any(score(run, "test", key) is not None for run in runs) else "dev"


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
        other: The baseline if it ran and is not the best itself, else the second best; None if there is nothing to
            compare with.
        comparable: Whether all averages are over the same tasks.
        baseline: The group that all others are compared with, if it ran.
        ranked: The groups whose averages are compared, the highest first.
        noise: Standard deviation over seeds, pooled over groups; not a number without a repeated seed.
    """

    split: str
    best: Group | None
    other: Group | None
    comparable: bool
    baseline: Group | None
    ranked: tuple[Group, ...]
    noise: float

    def difference(self, group: Group, other: Group, interval: Interval = "t") -> Difference:
        return paired(by_seed(group, self.split), by_seed(other, self.split), interval)


def rank(groups: Sequence[Group], baseline: str | None = None) -> Ranking:
    """Order the groups by their average score.

    Args:
        groups: All that are on the page.
        baseline: The name of the group to compare the others with; `uniform` by default.
    """
    split = split_of(groups)
    spreads = {group.name: scores(group, split) for group in groups}
    scored = sorted(
        (group for group in groups if spreads[group.name].n), key=lambda group: spreads[group.name].mean, reverse=True
    )
    rivals = [group for group in scored if len(group.runs[0].info["tasks"]) > 1]
    if len(_averaged(scored, split)) > 1 and len(_averaged(rivals, split)) == 1:
        scored = rivals  # tasks that were trained alone are something to measure the others by
    comparable = len(_averaged(scored, split)) <= 1
    variances = [own.std**2 for own in spreads.values() if own.n > 1]
    noise = float(np.sqrt(np.mean(variances))) if variances else np.nan
    if not scored or not comparable:
        return Ranking(split, None, None, comparable, None, tuple(scored), noise)
    best, rest = scored[0], scored[1:]
    base = next((group for group in scored if group.name == (baseline or BASELINE)), None)
    other = base if base in rest else next(iter(rest), None)
    return Ranking(split, best, other, True, base, tuple(scored), noise)


def _averaged(groups: Sequence[Group], split: str) -> set[frozenset[str]]:
    """The tasks that their averages are over: those that count and have rows in that split."""
    return {
        frozenset(task for task in run.summary["best"][split]["tasks"] if not run.info["tasks"][task].get("auxiliary"))
        for group in groups
        for run in group.finished
        if score(run, split) is not None
    }
