"""What runs were trained on: rows of each task, as often as they stayed in the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rota.analysis._groups import Group
from rota.budgets import UPDATES


@dataclass(frozen=True)
class ExposureOfGroup:
    """What the runs of a group were trained on, mean over its finished runs. What a method takes back is in its cost
    alone.

    Args:
        group: Whose runs they are.
        budget: What their length counts, as their plans say.
        rows: Of each task.
        passes: Over the rows of each task; not a number where nobody knows how many there are.
        rounds: That were kept.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> (group,) = group_runs([written_run({"rte": [0.5]})])
    >>> ExposureOfGroup(group, "rows:640", {"rte": 640.0}, {"rte": 0.25}, rounds=1.0).passes
    {'rte': 0.25}
    """

    group: Group
    budget: str
    rows: dict[str, float]
    passes: dict[str, float]
    rounds: float


def all_exposures(groups: Sequence[Group]) -> list[ExposureOfGroup]:
    """Of the groups with a finished run that counted it; runs of earlier versions did not.

    >>> from rota.analysis import group_runs
    >>> from rota.testing import written_run
    >>> run = written_run({"rte": [0.5]}, every=75, plan={"budget": "rows:150"})
    >>> [found] = all_exposures(group_runs([run]))
    >>> found.budget, found.rows, found.passes
    ('rows:150', {'rte': 150.0}, {'rte': 1.5})
    """
    found = []
    for group in groups:
        counted = [run for run in group.finished if "exposure" in run.summary]
        if not counted:
            continue
        known = dict.fromkeys(task for run in counted for task in run.summary["exposure"]["rows"])
        sizes = {task: (counted[0].info["tasks"].get(task, {}).get("rows") or {}).get("train") for task in known}
        rows = {
            task: float(np.mean([run.summary["exposure"]["rows"].get(task, 0) for run in counted])) for task in known
        }
        passes = {task: own / size if (size := sizes[task]) else np.nan for task, own in rows.items()}
        budget = str(counted[0].plan.get("budget", UPDATES))
        rounds = float(np.mean([run.summary["exposure"]["rounds"] for run in counted]))
        found.append(ExposureOfGroup(group, budget, rows, passes, rounds))
    return found
