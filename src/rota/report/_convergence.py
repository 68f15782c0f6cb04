"""When do tasks converge, and together? The diagnostics of paper 000."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from rota.report._groups import Group, method_of
from rota.report._history import AVERAGE, History
from rota.report._palette import Look
from rota.report._tables import method_cell, table

UNION = "union"
NOTE = (
    '<p class="note">Update at which the dev loss of each task is lowest, mean over seeds. <em>spread</em>: '
    "evaluations between the first and the last of these, auxiliary tasks left out. <em>excess</em>: how far the tasks "
    "are above their own lowest loss where the average over the tasks is lowest. <em>sooner than union</em>: by which "
    "factor the lowest losses come earlier than with the method <code>union</code>, on average.</p>"
)
TREND = (
    '<p class="note">How the uncertainty of each task goes with the updates: Kendall\'s τ over the surveys, mean over '
    "seeds; −1 falls always, +1 rises always.</p>"
)


def convergence(groups: Sequence[Group], histories: Mapping[str, Sequence[History]], looks: dict[str, Look]) -> str:
    """Both tables; the second only where somebody made surveys."""
    tasks = list(dict.fromkeys(task for group in groups for task in group.runs[0].info["tasks"]))
    counted = [task for task in tasks if not groups[0].runs[0].info["tasks"].get(task, {}).get("auxiliary")]
    slow = next((histories[group.name] for group in groups if method_of(group.runs[0]) == UNION), None)
    rows = []
    for group in groups:
        own = [history for history in histories[group.name] if len(history.evaluations) > 1]
        if not own:
            continue
        lowest = {task: _mean([_lowest(history, task) for history in own]) for task in tasks}
        row = [method_cell(group, looks), *(_whole(lowest[task]) for task in tasks)]
        row += [_number(_mean([_spread(history, counted) for history in own]), 1)]
        row += [_number(_mean([_excess(history, counted) for history in own]), 4)]
        row += [_number(_sooner(lowest, slow, counted), 2) if histories[group.name] is not slow else ""] if slow else []
        rows.append(row)
    if not rows:
        return ""
    header = ["method", *(escape(task) for task in tasks), "spread", "excess", *(["sooner than union"] if slow else [])]
    return NOTE + table(header, rows) + _trends(groups, histories, tasks, looks)


def kendall(values: Sequence[float]) -> float:
    """Kendall's τ of a sequence with its order; not a number for fewer than two values.

    >>> kendall([1.0, 2.0, 3.0]), kendall([3.0, 1.0, 2.0])
    (1.0, -0.3333333333333333)
    """
    signs = np.sign(np.subtract.outer(values, values))[np.tril_indices(len(values), -1)]
    return float(signs.mean()) if len(signs) else np.nan


def _trends(
    groups: Sequence[Group], histories: Mapping[str, Sequence[History]], tasks: Sequence[str], looks: dict[str, Look]
) -> str:
    rows = []
    for group in groups:
        surveyed = [history for history in histories[group.name] if history.uncertainty]
        if surveyed:
            own = [_mean([kendall(list(h.uncertainty.get(task, {}).values())) for h in surveyed]) for task in tasks]
            rows.append([method_cell(group, looks), *(_number(tau, 2) for tau in own)])
    return TREND + table(["method", *map(escape, tasks)], rows) if rows else ""


def _lowest(history: History, task: str | None) -> float:
    """The step of the lowest loss."""
    losses = history.loss.get(task, {})
    return float(min(losses, key=losses.__getitem__)) if losses else np.nan


def _spread(history: History, tasks: Sequence[str]) -> float:
    """In evaluations."""
    places = [history.evaluations.index(int(step)) for task in tasks if np.isfinite(step := _lowest(history, task))]
    return float(max(places) - min(places)) if places else np.nan


def _excess(history: History, tasks: Sequence[str]) -> float:
    at = _lowest(history, AVERAGE)
    over = [
        history.loss[task][int(at)] - min(history.loss[task].values())
        for task in tasks
        if at in history.loss.get(task, {})
    ]
    return float(np.mean(over)) if over else np.nan


def _sooner(lowest: Mapping[str, float], slow: Sequence[History], tasks: Sequence[str]) -> float:
    ratios = [_mean([_lowest(history, task) for history in slow]) / lowest[task] for task in tasks if lowest[task] > 0]
    return _mean(ratios)


def _mean(values: Sequence[float]) -> float:
    present = [value for value in values if np.isfinite(value)]
    return float(np.mean(present)) if present else np.nan


def _whole(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:,.0f}"


def _number(value: float, digits: int) -> str:
    return "–" if np.isnan(value) else f"{value:.{digits}f}"
