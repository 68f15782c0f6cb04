"""What runs cost, group by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rota.analysis._groups import Group
from rota.runlog import Ledger

COST_COLUMNS = {
    "updates": "optimizer steps",
    "train": "examples trained on, forward and backward",
    "tokens": "tokens whose loss was trained",
    "scored": "examples forwarded to make a signal or to pick candidates",
    "evaluated": "dev examples forwarded by evaluations during training",
    "reported": "dev and test examples forwarded at the end",
    "dev_trained": "dev examples with a backward pass",
    "runs": "whole trainings, inner ones included",
}
"""What a ledger counts, and what that is."""

ALWAYS = ("updates", "train", "scored", "evaluated")


@dataclass(frozen=True)
class Cost:
    """What a run of a group cost, mean over its finished runs.

    Args:
        group: Whose runs they are.
        counts: By the names in `COST_COLUMNS`.
        forward_equivalents: What training and scoring cost in forward passes of one example.
        relative: To the cheapest group; not a number where that cost nothing.
        seconds: On the clock.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> [cost] = all_costs(group_runs([written_run({"rte": [0.5, 0.6]}, every=50)]))
    >>> cost.counts["updates"], cost.counts["train"], cost.forward_equivalents
    (100.0, 200.0, 600.0)
    """

    group: Group
    counts: dict[str, float]
    forward_equivalents: float
    relative: float
    seconds: float


def all_costs(groups: Sequence[Group]) -> list[Cost]:
    """Of the groups with a finished run.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> runs = [written_run({"rte": [0.6]}, every=50), written_run({"rte": [0.7]}, method="exp3s", every=100)]
    >>> {cost.group.name: cost.relative for cost in all_costs(group_runs(runs))}
    {'uniform': 1.0, 'exp3s': 2.0}
    """
    finished = [group for group in groups if group.finished]
    costs = {group.name: mean_cost(group) for group in finished}
    cheapest = min(costs.values(), default=0.0)
    return [
        Cost(
            group,
            {name: float(np.mean([getattr(ledger, name) for ledger in _ledgers(group)])) for name in COST_COLUMNS},
            costs[group.name],
            costs[group.name] / cheapest if cheapest > 0 else np.nan,
            float(np.mean([run.summary["seconds"] for run in group.finished])),
        )
        for group in finished
    ]


def used_cost_columns(groups: Sequence[Group]) -> list[str]:
    """Those that say something: the usual ones, and those in which a run differs from a plain training.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> used_cost_columns(group_runs([written_run({"rte": [0.6]})]))
    ['updates', 'train', 'scored', 'evaluated']
    """
    ledgers, usual = [ledger for group in groups for ledger in _ledgers(group)], Ledger()
    return [
        name
        for name in COST_COLUMNS
        if name in ALWAYS or any(getattr(ledger, name) != getattr(usual, name) for ledger in ledgers)
    ]


def mean_cost(group: Group) -> float:
    """Forward equivalents of a finished run."""
    return float(np.mean([ledger.forward_equivalents for ledger in _ledgers(group)]))


def _ledgers(group: Group) -> list[Ledger]:
    return [Ledger.from_dict(run.summary["cost"]) for run in group.finished]
