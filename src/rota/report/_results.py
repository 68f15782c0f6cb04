"""Who got which scores at what cost: the numbers behind the tables, whatever the format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rota.report._balance import Reached, reached, scores_alone, sigma
from rota.report._groups import Group, tasks_of
from rota.report._numbers import Spread, spread
from rota.report._paired import Difference, Interval
from rota.report._scores import Ranking, rank, scores, split_of
from rota.runlog import Ledger

COLUMNS = {
    "updates": "optimizer steps",
    "train": "examples trained on, forward and backward",
    "scored": "examples forwarded to make a signal or to pick candidates",
    "evaluated": "dev and test examples forwarded to look at the model",
    "dev_trained": "dev examples with a backward pass",
    "runs": "whole trainings, inner ones included",
}
"""What a ledger counts, and what that is."""

ALWAYS = ("updates", "train", "scored", "evaluated")


@dataclass(frozen=True)
class Score:
    """What one group reached.

    Args:
        group: Whose scores these are.
        best: Whether no average is higher.
        average: Over seeds, in the split of the ranking; none where it is not comparable with the others.
        difference: To the baseline, seed by seed; None for the baseline itself and where there is none.
        tasks: By task, each in the split that is shown of it.
        sigma: Task σ, over seeds.
        reached: How many tasks are as good as alone.
        dev: The average on dev.
    """

    group: Group
    best: bool
    average: Spread
    difference: Difference | None
    tasks: dict[str, Spread]
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
class Scores:
    """All scores.

    Args:
        ranking: Who is ahead.
        tasks: Each with whether it is auxiliary.
        splits: Of which split the scores of a task are shown.
        rows: One of each group.
    """

    ranking: Ranking
    tasks: dict[str, bool]
    splits: dict[str, str]
    rows: list[Score]


@dataclass(frozen=True)
class Cost:
    """What a run of a group cost, mean over its finished runs.

    Args:
        group: Whose runs they are.
        counts: By the names in `COLUMNS`.
        forward_equivalents: What training and scoring cost in forward passes of one example.
        relative: To the cheapest group; not a number where that cost nothing.
        seconds: On the clock.
    """

    group: Group
    counts: dict[str, float]
    forward_equivalents: float
    relative: float
    seconds: float


def all_scores(groups: Sequence[Group], baseline: str | None = None, interval: Interval = "t") -> Scores:
    """The scores of all groups, compared with the baseline."""
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
            Score(
                group,
                best=average.mean == top,
                average=average,
                difference=ranking.difference(group, ranking.baseline, interval)
                if compared and ranking.baseline
                else None,
                tasks={task: scores(group, splits[task], task) for task in tasks},
                sigma=spread(sigma(run, ranking.split) for run in group.finished),
                reached=reached(group, alone, ranking.split),
                dev=scores(group, "dev") if counts else spread([]),
            )
        )
    return Scores(ranking, tasks, splits, rows)


def all_costs(groups: Sequence[Group]) -> list[Cost]:
    """Of the groups with a finished run."""
    finished = [group for group in groups if group.finished]
    costs = {group.name: mean_cost(group) for group in finished}
    cheapest = min(costs.values(), default=0.0)
    return [
        Cost(
            group,
            {name: float(np.mean([getattr(ledger, name) for ledger in _ledgers(group)])) for name in COLUMNS},
            costs[group.name],
            costs[group.name] / cheapest if cheapest > 0 else np.nan,
            float(np.mean([run.summary["seconds"] for run in group.finished])),
        )
        for group in finished
    ]


def used_columns(groups: Sequence[Group]) -> list[str]:
    """Those that say something: the usual ones, and those in which a run differs from a plain training."""
    ledgers, usual = [ledger for group in groups for ledger in _ledgers(group)], Ledger()
    return [
        name
        for name in COLUMNS
        if name in ALWAYS or any(getattr(ledger, name) != getattr(usual, name) for ledger in ledgers)
    ]


def mean_cost(group: Group) -> float:
    """Forward equivalents of a finished run."""
    return float(np.mean([ledger.forward_equivalents for ledger in _ledgers(group)]))


def _ledgers(group: Group) -> list[Ledger]:
    return [Ledger.from_dict(run.summary["cost"]) for run in group.finished]
