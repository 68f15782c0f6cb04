"""When do tasks converge, and together? The diagnostics of Fang & Alqatari."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rota.analysis._groups import Group, method_of
from rota.analysis._run_history import AVERAGE, Key, RunHistory

UNION = "union"


@dataclass(frozen=True)
class Convergence:
    """Of one group, means over seeds; not a number where nobody knows.

    Args:
        lowest: By task, the update at which its dev loss is lowest.
        spread: Evaluations between the first and the last of these, auxiliary tasks left out.
        excess: How far the tasks are above their own lowest loss where the average over the tasks is lowest.
        pooled_excess: The same where the average over all dev rows is lowest, in which large tasks count more.
        sooner: By which factor the lowest losses come earlier than with union; None for union, and without it.

    >>> found = Convergence({"rte": 200.0, "mnli": 500.0}, 3.0, excess=0.04, pooled_excess=0.02, sooner=1.5)
    >>> max(found.lowest, key=found.lowest.get)  # the last one to converge
    'mnli'
    """

    lowest: dict[str, float]
    spread: float
    excess: float
    pooled_excess: float
    sooner: float | None


def convergence(groups: Sequence[Group], histories: Mapping[str, Sequence[RunHistory]]) -> dict[str, Convergence]:
    """By the name of the group; those without a run that has dev losses of two evaluations are left out.

    Args:
        groups: All that are compared.
        histories: Of the runs of each group, by its name.

    >>> from rota.analysis import group_runs, read_history
    >>> from rota.testing import written_run
    >>> runs = [written_run({"rte": [0.6, 0.5, 0.4], "mnli": [0.6, 0.7, 0.8]}, every=100)]  # losses are 1 − these
    >>> found = convergence(group_runs(runs), {"uniform": [read_history(run) for run in runs]})
    >>> found["uniform"].lowest, found["uniform"].spread
    ({'rte': 100.0, 'mnli': 300.0}, 2.0)
    """
    tasks, known = _tasks(groups), groups[0].runs[0].info["tasks"]
    counted = [task for task in tasks if not known.get(task, {}).get("auxiliary")]
    slow = next((group for group in groups if method_of(group.runs[0]) == UNION), None)
    found = {}
    for group in groups:
        own = [history for history in histories[group.name] if len(history.evaluations) > 1 and history.loss]
        if not own:
            continue
        lowest = {task: _mean([_lowest(history, task) for history in own]) for task in tasks}
        found[group.name] = Convergence(
            lowest,
            _mean([_spread(history, counted) for history in own]),
            _mean([_excess(history, counted, history.loss.get(AVERAGE, {})) for history in own]),
            _mean([_excess(history, counted, history.pooled_loss) for history in own]),
            None if slow is None or slow is group else _sooner(lowest, histories[slow.name], counted),
        )
    return found


def uncertainty_trends(
    groups: Sequence[Group], histories: Mapping[str, Sequence[RunHistory]]
) -> dict[str, dict[str, float]]:
    """Trend of each task's uncertainty over the updates: Kendall's τ over the surveys, mean over seeds; by the name of
    the group, where there were surveys.

    >>> from rota.analysis import group_runs, read_history
    >>> from rota.testing import written_run
    >>> surveys = [{"kind": "survey", "step": k, "tasks": {"rte": {"uncertainty": 0.9 - 0.1 * k}}} for k in range(4)]
    >>> run = written_run({"rte": [0.5]}, lines=surveys)
    >>> uncertainty_trends(group_runs([run]), {"uniform": [read_history(run)]})  # it falls all the time
    {'uniform': {'rte': -1.0}}
    """
    found = {}
    for group in groups:
        surveyed = [history for history in histories[group.name] if history.uncertainty]
        if surveyed:
            found[group.name] = {
                task: _mean([kendall(list(history.uncertainty.get(task, {}).values())) for history in surveyed])
                for task in _tasks(groups)
            }
    return found


def kendall(values: Sequence[float]) -> float:
    """Kendall's τ of a sequence with its order; not a number for fewer than two values.

    >>> kendall([1.0, 2.0, 3.0]), kendall([3.0, 1.0, 2.0])
    (1.0, -0.3333333333333333)
    """
    signs = np.sign(np.subtract.outer(values, values))[np.tril_indices(len(values), -1)]
    return float(signs.mean()) if len(signs) else np.nan


def _tasks(groups: Sequence[Group]) -> list[str]:
    return list(dict.fromkeys(task for group in groups for task in group.runs[0].info["tasks"]))


def _lowest(history: RunHistory, key: Key) -> float:
    """The step of the lowest loss."""
    return _at_lowest(history.loss.get(key, {}))


def _at_lowest(losses: Mapping[int, float]) -> float:
    return float(min(losses, key=losses.__getitem__)) if losses else np.nan


def _spread(history: RunHistory, tasks: Sequence[str]) -> float:
    """In evaluations."""
    places = [history.evaluations.index(int(step)) for task in tasks if np.isfinite(step := _lowest(history, task))]
    return float(max(places) - min(places)) if places else np.nan


def _excess(history: RunHistory, tasks: Sequence[str], aggregate: Mapping[int, float]) -> float:
    at = _at_lowest(aggregate)
    over = [
        history.loss[task][int(at)] - min(history.loss[task].values())
        for task in tasks
        if at in history.loss.get(task, {})
    ]
    return float(np.mean(over)) if over else np.nan


def _sooner(lowest: Mapping[str, float], slow: Sequence[RunHistory], tasks: Sequence[str]) -> float:
    ratios = [_mean([_lowest(history, task) for history in slow]) / lowest[task] for task in tasks if lowest[task] > 0]
    return _mean(ratios)


def _mean(values: Sequence[float]) -> float:
    present = [value for value in values if np.isfinite(value)]
    return float(np.mean(present)) if present else np.nan
