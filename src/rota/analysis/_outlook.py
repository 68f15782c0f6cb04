"""Would more updates help, and how far can one trust such a prediction? Means over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rota.analysis._foresight import Foresight, foresight
from rota.analysis._groups import Group
from rota.analysis._run_history import RunHistory


@dataclass(frozen=True)
class Outlook:
    """Predictions for a task, mean over the runs of a group, in units of its score.

    Args:
        gain, reach: What a tenth more updates should bring, and how far to both sides the 95 % interval of one run
            reaches.
        predicted, realised: The last score from the first half of the evaluations, and what it was.
        held: In how many of the runs it was inside of its interval.
        runs: How many there are.

    >>> found = Outlook(gain=0.002, reach=0.010, predicted=0.71, realised=0.72, held=3, runs=3)
    >>> found.gain > found.reach  # whether a tenth more updates would be sure to help
    False
    """

    gain: float
    reach: float
    predicted: float
    realised: float
    held: int
    runs: int


def outlook(groups: Sequence[Group], histories: Mapping[str, Sequence[RunHistory]]) -> dict[str, dict[str, Outlook]]:
    """By the name of the group, then by task; tasks and groups that were not evaluated often enough are left out.

    >>> from rota.analysis import group_runs, read_history
    >>> from rota.testing import written_run
    >>> run = written_run({"rte": [0.8 - 0.3 * 0.7**k for k in range(12)]}, every=20, plan={"schedule": "constant"})
    >>> found = outlook(group_runs([run]), {"uniform": [read_history(run)]})["uniform"]["rte"]
    >>> round(found.gain, 3), found.held, found.runs
    (0.001, 1, 1)
    """
    found = {}
    for group in groups:
        by_task: dict[str, list[Foresight]] = {}
        for run, history in zip(group.runs, histories[group.name], strict=True):
            for task, one in foresight(run, history).items():
                by_task.setdefault(task, []).append(one)
        if by_task:
            found[group.name] = {task: _mean(own) for task, own in by_task.items()}
    return found


def _mean(own: Sequence[Foresight]) -> Outlook:
    return Outlook(
        float(np.mean([one.gain for one in own])),
        float(np.sqrt(np.mean([one.gain_reach**2 for one in own]))),
        float(np.mean([one.predicted for one in own])),
        float(np.mean([one.realised for one in own])),
        sum(one.held for one in own),
        len(own),
    )
