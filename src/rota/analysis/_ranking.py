"""Which group has the highest average, and against which one it is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rota.analysis._checkpoint_scores import by_seed, score, scores, split_of
from rota.analysis._groups import Group
from rota.analysis._paired import Difference, Interval, paired

BASELINE = "uniform"


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

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> ranking = rank(group_runs([written_run({"rte": [0.5]}, "uniform"), written_run({"rte": [0.75]}, "exp3s")]))
    >>> ranking.difference(ranking.best, ranking.baseline).mean
    0.25
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

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> scores = {"uniform": 0.5, "proportional": 0.4, "exp3s": 0.6}
    >>> ranking = rank(group_runs(written_run({"rte": [own]}, name) for name, own in scores.items()))
    >>> [group.name for group in ranking.ranked], ranking.other.name
    (['exp3s', 'uniform', 'proportional'], 'uniform')
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
