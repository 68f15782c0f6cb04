"""Who got which scores: the numbers behind the tables, whatever the format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rota.analysis._balance import Reached, reached, scores_alone, sigma
from rota.analysis._checkpoint_scores import by_seed, scores, split_of
from rota.analysis._groups import Group, tasks_of
from rota.analysis._paired import Difference, Interval, paired
from rota.analysis._ranking import Ranking, rank
from rota.analysis._spreads import Spread, spread
from rota.notebooks import shown_inline


@dataclass(frozen=True)
class GroupScore:
    """What one group reached.

    Args:
        group: Whose scores these are.
        best: Whether no average is higher.
        average: Over seeds, in the split of the ranking; none where it is not comparable with the others.
        difference: To the baseline, seed by seed; None for the baseline itself and where there is none.
        tasks: By task, each in the split that is shown of it.
        changes: By task, the difference to the baseline, seed by seed; empty for the baseline itself and where there
            is none.
        sigma: Task σ, over seeds.
        reached: How many tasks are as good as alone.
        dev: The average on dev.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> scores = {"uniform": [0.50, 0.60], "exp3s": [0.55, 0.63]}
    >>> runs = [written_run({"rte": [own]}, name, seed) for name in scores for seed, own in enumerate(scores[name])]
    >>> found = all_scores(group_runs(runs)).rows[1]
    >>> found.best, round(found.difference.mean, 3), found.unclear, found.seeds_needed
    (True, 0.04, True, 4)
    """

    group: Group
    best: bool
    average: Spread
    difference: Difference | None
    tasks: dict[str, Spread]
    changes: dict[str, Difference]
    sigma: Spread
    reached: Reached
    dev: Spread

    @property
    def unclear(self) -> bool:
        """Whether there is a difference of two seeds or more, with zero in its interval."""
        found = self.difference
        return found is not None and found.n > 1 and found.low <= 0 <= found.high

    @property
    def seeds_needed(self) -> int | None:
        """With how many seeds the difference would be found; None where it is found already, or by no number."""
        return self.difference.seeds_needed if self.difference is not None and self.unclear else None


@dataclass(frozen=True)
class ScoreTable:
    """All scores.

    Args:
        ranking: Who is ahead.
        tasks: Each with whether it is auxiliary.
        splits: Of which split the scores of a task are shown.
        rows: One of each group.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> table = all_scores(group_runs([written_run({"rte": [0.5], "mnli": [0.7]}, auxiliary=["mnli"])]))
    >>> table.tasks, table.splits, table.rows[0].tasks["rte"].mean
    ({'rte': False, 'mnli': True}, {'rte': 'dev', 'mnli': 'dev'}, 0.5)
    """

    ranking: Ranking
    tasks: dict[str, bool]
    splits: dict[str, str]
    rows: list[GroupScore]

    def _repr_html_(self) -> str | None:
        """How a notebook shows it."""
        return shown_inline(self)


def all_scores(groups: Sequence[Group], baseline: str | None = None, interval: Interval = "t") -> ScoreTable:
    """The scores of all groups, compared with the baseline.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> runs = [written_run({"rte": [0.5], "mnli": [0.75]}), written_run({"rte": [0.625], "mnli": [0.75]}, "exp3s")]
    >>> for row in all_scores(group_runs(runs)).rows:
    ...     print(row.group.name, row.average.mean, {task: change.mean for task, change in row.changes.items()})
    uniform 0.625 {}
    exp3s 0.6875 {'rte': 0.125, 'mnli': 0.0}
    """
    ranking, tasks = rank(groups, baseline), tasks_of(run for group in groups for run in group.runs)
    splits = {task: split_of(groups, task) if ranking.split == "test" else "dev" for task in tasks}
    alone = scores_alone(groups, ranking.split)
    top = scores(ranking.best, ranking.split).mean if ranking.best else np.nan
    base, rows = ranking.baseline, []
    for group in groups:
        counts = group in ranking.ranked
        average = scores(group, ranking.split) if counts else spread([])
        compared = counts and group is not base
        rows.append(
            GroupScore(
                group,
                best=average.mean == top,
                average=average,
                difference=ranking.difference(group, base, interval) if base and compared else None,
                tasks={task: scores(group, splits[task], task) for task in tasks},
                changes={
                    task: paired(by_seed(group, split, task), by_seed(base, split, task), interval)
                    for task, split in splits.items()
                }
                if base and group is not base
                else {},
                sigma=spread(sigma(run, ranking.split) for run in group.finished),
                reached=reached(group, alone, ranking.split),
                dev=scores(group, "dev") if counts else spread([]),
            )
        )
    return ScoreTable(ranking, tasks, splits, rows)
