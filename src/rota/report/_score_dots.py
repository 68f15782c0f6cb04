"""Scores as dots with intervals: who is where, how far from the baseline, and on which task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rota.analysis import Difference, GroupScore, Spread
from rota.report._dots import Dot, DotPlot
from rota.report._many_tasks import foremost
from rota.report._page import ReportPage
from rota.report._palette import LineStyle
from rota.report._pieces import Text, small
from rota.report._words import ends, percent


def average_dots(page: ReportPage) -> DotPlot | None:
    """The average of each method; None where one method is alone, or none has a score."""
    found = page.scores
    rows = [row for row in found.rows if row.average.n]
    if len(rows) < 2:
        return None
    base = next((row.average.mean for row in rows if row.group is found.ranking.baseline), None)
    dots = [_dot(page.named(row.group.name), page.method_styles[row.group.name], row.average) for row in rows]
    caption = ("average ", small(f"{found.ranking.split} score, in percent{_interval(rows)}"))
    return DotPlot(caption, dots, None if base is None else 100 * base)


def difference_dots(page: ReportPage) -> DotPlot | None:
    """How much higher than the baseline each method is, seed by seed."""
    found = page.scores
    rows = [(row, row.difference) for row in found.rows if row.difference is not None and row.difference.n]
    if not rows or found.ranking.baseline is None:
        return None
    dots = [
        _difference(page.named(row.group.name), page.method_styles[row.group.name], difference)
        for row, difference in rows
    ]
    paired = "paired by seed, 95 % interval" if any(difference.n > 1 for _, difference in rows) else "one seed"
    caption = (f"difference to {found.ranking.baseline.name} ", small(f"in points, {paired}"))
    return DotPlot(caption, dots, 0.0)


def task_dots(page: ReportPage) -> list[DotPlot]:
    """One plot for each task with all methods; of one method alone, one plot with all tasks."""
    found = page.scores
    rows = [row for row in found.rows if any(own.n for own in row.tasks.values())]
    tasks = [task for task in found.tasks if any(row.tasks[task].n for row in rows)]
    if len(rows) == 1:
        drawn = foremost(tasks, lambda task: -rows[0].tasks[task].mean)
        own = [_dot(_task(page, task), page.method_styles[rows[0].group.name], rows[0].tasks[task]) for task in drawn]
        return [DotPlot(("score ", small(f"in percent{_interval(rows)}")), own)] if own else []
    return [_task_plot(page, rows, task) for task in foremost(tasks, lambda task: score_change(rows, task))]


def _task_plot(page: ReportPage, rows: list[GroupScore], task: str) -> DotPlot:
    named = [row for row in rows if row.tasks[task].n]
    base = next((row.tasks[task].mean for row in named if row.group is page.scores.ranking.baseline), None)
    dots = [_dot(page.named(row.group.name), page.method_styles[row.group.name], row.tasks[task]) for row in named]
    note = small(page.scores.splits[task], ", auxiliary" if page.tasks.get(task) else "")
    return DotPlot((task, " ", note), dots, None if base is None else 100 * base)


def score_change(rows: Sequence[GroupScore], task: str) -> float:
    """How far methods are apart on a task: from the baseline where there is one."""
    changes = [abs(row.changes[task].mean) for row in rows if task in row.changes and row.changes[task].n]
    means = [row.tasks[task].mean for row in rows if row.tasks[task].n]
    return max(changes, default=float(np.ptp(means)) if means else 0.0)


def _task(page: ReportPage, task: str) -> Text:
    return (task, " ", small("auxiliary")) if page.tasks.get(task) else task


def _interval(rows: list[GroupScore]) -> str:
    return ", with the 95 % interval of the mean" if any(row.average.n > 1 for row in rows) else ""


def _dot(name: Text, style: LineStyle, over: Spread) -> Dot:
    low, high = over.interval
    told: Text = percent(over.mean)
    told = (told, " ", small(ends(low, high))) if over.n > 1 else told
    return Dot(name, style, 100 * over.mean, 100 * low, 100 * high, told)


def _difference(name: Text, style: LineStyle, found: Difference) -> Dot:
    told: Text = percent(found.mean, signed=True)
    told = (told, " ", small(ends(found.low, found.high))) if found.n > 1 else told
    return Dot(name, style, 100 * found.mean, 100 * found.low, 100 * found.high, told)
