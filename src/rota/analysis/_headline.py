"""What ran, and what it shows: who is ahead, and what that is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rota.analysis._checkpoint_scores import scores
from rota.analysis._costs import all_costs
from rota.analysis._groups import Group, tasks_of
from rota.analysis._paired import Difference
from rota.analysis._ranking import Ranking, rank
from rota.analysis._spreads import Spread, spread
from rota.runlog import written_steps

FEW = 10  # seeds below which an interval without zero is weak evidence
MANY = 4  # methods from which on the best one is likely to be a lucky one, too
UNEQUAL = 1.1  # how much dearer a method must be for the costs to be called unequal

Evidence = Literal["no shared seed", "too few seeds", "unclear", "weak", "clear"]


@dataclass(frozen=True)
class Overview:
    """What ran.

    Args:
        runs: How many there are.
        methods: Names of their groups.
        seeds: How many seeds a group has; one number if all have as many.
        steps: Updates of a run; one number if all have as many.
        counted: The tasks that the average is over.
        auxiliary: Those that were trained as well.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> found = overview(group_runs([written_run({"rte": [0.5], "mnli": [0.7]}, auxiliary=["mnli"])]))
    >>> found.counted, found.auxiliary
    (['rte'], ['mnli'])
    """

    runs: int
    methods: list[str]
    seeds: list[int]
    steps: list[int]
    counted: list[str]
    auxiliary: list[str]


@dataclass(frozen=True)
class Headline:
    """What the runs show.

    Args:
        ranking: Who is ahead, and of whom.
        top: Scores of the best group; of nobody where there is none.
        difference: Of the best to the other, seed by seed; None where there is nothing to compare.
        evidence: What that difference is worth.
        picked_from: Of how many the best is the highest, where they are so many that this flatters it.
        dearest: What the dearest group cost, relative to the cheapest; None where they cost about the same.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> found = headline(group_runs([written_run({"rte": [0.5, 0.6], "mnli": [0.7, 0.8]}, method="exp3s")]))
    >>> found.ranking.best.name, round(found.top.mean, 2), found.difference
    ('exp3s', 0.7, None)
    """

    ranking: Ranking
    top: Spread
    difference: Difference | None
    evidence: Evidence | None
    picked_from: int | None
    dearest: float | None


def overview(groups: Sequence[Group]) -> Overview:
    """Tasks, updates, methods, seeds.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> runs = [written_run({"rte": [0.5]}, name, seed) for name in ("uniform", "exp3s") for seed in range(3)]
    >>> found = overview(group_runs(runs))
    >>> found.runs, found.methods, found.seeds, found.steps
    (6, ['uniform', 'exp3s'], [3], [2])
    """
    runs = [run for group in groups for run in group.runs]
    tasks = tasks_of(runs)
    return Overview(
        runs=len(runs),
        methods=[group.name for group in groups],
        seeds=sorted({len({run.plan.get("seed") for run in group.runs}) for group in groups}),
        # A loop of somebody's own has no plan that says how long it is.
        steps=sorted({run.plan.get("steps") or written_steps(run.folder) for run in runs}),
        counted=[task for task, auxiliary in tasks.items() if not auxiliary],
        auxiliary=[task for task, auxiliary in tasks.items() if auxiliary],
    )


def headline(groups: Sequence[Group], baseline: str | None = None) -> Headline:
    """Which method is ahead, and whether that is more than noise.

    Args:
        groups: All that are compared.
        baseline: The name of the group to compare the others with; `uniform` by default.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> scores = {"uniform": [0.50, 0.52, 0.54], "exp3s": [0.60, 0.61, 0.65]}
    >>> runs = [written_run({"rte": [own]}, name, seed) for name in scores for seed, own in enumerate(scores[name])]
    >>> found = headline(group_runs(runs))
    >>> found.ranking.best.name, round(found.difference.mean, 3), found.evidence
    ('exp3s', 0.1, 'weak')
    """
    ranking = rank(groups, baseline)
    best, other = ranking.best, ranking.other
    if best is None:
        return Headline(ranking, spread([]), None, None, None, None)
    difference = ranking.difference(best, other) if other else None
    ratio = max((cost.relative for cost in all_costs(groups)), default=1.0)
    return Headline(
        ranking,
        scores(best, ranking.split),
        difference,
        _evidence(difference) if difference else None,
        len(ranking.ranked) if other and len(ranking.ranked) >= MANY else None,
        ratio if ratio >= UNEQUAL else None,
    )


def _evidence(difference: Difference) -> Evidence:
    if difference.n == 0:
        return "no shared seed"
    if difference.n < 3:
        return "too few seeds"
    if not difference.tells:
        return "unclear"
    return "weak" if difference.n < FEW else "clear"
