"""Scores: dots with intervals, then one row per method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rota.analysis import Difference, Group, GroupScore, Spread, counted_tasks
from rota.report._average_table import average_table
from rota.report._many_tasks import DRAWN, left_out
from rota.report._page import ReportPage
from rota.report._pieces import Table, TableCell, Text, em, small, strong
from rota.report._score_dots import average_dots, difference_dots, score_change, task_dots
from rota.report._templates import render
from rota.report._words import interval, percent

if TYPE_CHECKING:
    from markupsafe import Markup

LEFT_OUT = {True: "those on which methods are farthest apart", False: "those with the lowest scores"}


def score_section(page: ReportPage) -> Markup:
    """Dots with intervals, then tables."""
    known, difference = any(row.average.n for row in page.scores.rows), difference_dots(page)
    return render(
        "scores.html",
        plots=[plot for plot in (average_dots(page), difference) if plot is not None],
        compared=difference is not None and any(dot.sure for dot in difference.dots),
        by_task=task_dots(page),
        left_out=left_out(len(page.scores.tasks), LEFT_OUT[len(page.groups) > 1]),
        scores=score_table(page),
        averages=average_table(page),
        tasks=task_table(page) if len(page.scores.tasks) > DRAWN and known else None,
    )


def score_table(page: ReportPage) -> Table:
    """The average, how far it is from the baseline, how even the tasks are, and each task unless there are many."""
    found = page.scores
    if not any(own.n for row in found.rows for own in [row.average, *row.tasks.values()]):
        return Table([], [], note="No run is finished with a score.")
    shown = found.tasks if len(found.tasks) <= DRAWN else {}
    split = small(found.ranking.split)
    base = found.ranking.baseline if any(row.difference for row in found.rows) else None
    doubtful = any(row.difference and row.difference.n > 1 for row in found.rows)
    several = any(_counted(row) > 1 for row in found.rows)
    alone = any(row.reached and _counted(row) > 1 for row in found.rows)
    tested = found.ranking.split == "test"
    header: list[TableCell | Text] = ["method", ("average", split)]
    header += [(f"− {base.name}", small("paired, 95 % interval"))] if base else []
    header += [("seeds needed", small("to tell"))] if doubtful else []
    for task, auxiliary in shown.items():
        note = small(found.splits[task], ", auxiliary" if auxiliary else "")
        header.append(_dimmed((task, note), auxiliary))
    header += [("task σ", split)] if several else []
    header += ["tasks ≥ single task"] if alone else []
    header += [("average", small("dev"))] if tested else []
    rows = []
    for row in found.rows:
        average = _spread(row.average)
        cells: list[TableCell | Text] = [page.named(row.group.name)]
        cells += [strong(average) if row.best else average]
        cells += [_difference(row.difference) if row.difference else ""] if base else []
        cells += [_needed(row)] if doubtful else []
        cells += [_dimmed(_spread(row.tasks[task]), auxiliary) for task, auxiliary in shown.items()]
        cells += [percent(row.sigma.mean) if _counted(row) > 1 else "–"] if several else []
        cells += [_reached(row)] if alone else []
        cells += [_spread(row.dev)] if tested else []
        rows.append([*cells, _runs(row.group)])
    best = [number for number, row in enumerate(found.rows) if row.best] if len(found.rows) > 1 else []
    return Table([*header, "runs"], rows, best, _note(page, doubtful, several, alone))


def task_table(page: ReportPage) -> Table:
    """A row for each task and a column for each method; where there is a baseline, the largest change comes first."""
    found = page.scores
    order = sorted(found.tasks, key=lambda task: (found.tasks[task], -score_change(found.rows, task)))
    header: list[TableCell | Text] = ["task", *(page.named(row.group.name) for row in found.rows)]
    rows = [
        [task, *(_dimmed(_spread(row.tasks[task]), found.tasks[task]) for row in found.rows)]
        for task in order
        if any(row.tasks[task].n for row in found.rows)
    ]
    return Table(header, rows, rows_of="tasks")


def _note(page: ReportPage, doubtful: bool, several: bool, alone: bool) -> Text:
    found, ranking = page.scores, page.scores.ranking
    over = ", mean ± standard deviation over seeds" if page.repeated else ""
    notes: list[Text] = [f"Scores in percent at the best checkpoint{over}."]
    if ranking.split == "dev":
        notes.append(
            " There are no test scores of all tasks that count: these are dev scores, of the checkpoint that was best "
            "on them."
        )
    elif "dev" in found.splits.values():
        notes.append(" Auxiliary tasks without test rows show their dev score.")
    if doubtful:
        told = (
            ": where zero is in the interval, with how many seeds a difference of this size and spread would be found "
            "four times in five; a dash where no sensible number does."
        )
        notes.append((" ", em("seeds needed"), told))
    if several:
        told = (
            ": standard deviation across the tasks of the average, each of their metrics being one entry, in points"
            + (", mean over seeds." if over else ".")
        )
        notes.append((" ", em("task σ"), told))
    if alone:
        told = ": how many are no lower than where they were trained alone" + (", mean over seeds." if over else ".")
        notes.append((" ", em("tasks ≥ single task"), told))
    return tuple(notes)


def _runs(group: Group) -> Text:
    unfinished = len(group.runs) - len(group.finished)
    finished = str(len(group.finished))
    return (finished, " ", small(f"+ {unfinished} unfinished")) if unfinished else finished


def _spread(over: Spread) -> Text:
    return (percent(over.mean), " ", small(f"± {percent(over.std)}")) if over.n > 1 else percent(over.mean)


def _difference(difference: Difference) -> Text:
    told = percent(difference.mean, signed=True)
    return (told, " ", small(interval(difference))) if difference.n > 1 else told


def _dimmed(text: Text, auxiliary: bool) -> TableCell | Text:
    return TableCell(text, "dim") if auxiliary else text


def _counted(row: GroupScore) -> int:
    return len(counted_tasks(row.group.runs[0]))


def _needed(row: GroupScore) -> str:
    """Nothing where the difference is found already."""
    return str(row.seeds_needed or "–") if row.unclear else ""


def _reached(row: GroupScore) -> str:
    if not row.reached or _counted(row) == 1:
        return "–"
    mean = f"{np.mean(row.reached.counts):.1f}".removesuffix(".0")
    return f"{mean} of {row.reached.tasks}"
