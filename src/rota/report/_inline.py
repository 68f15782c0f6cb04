"""A run or a comparison as a notebook shows it: sentences, dots and tables with small curves; no script."""

from __future__ import annotations

from rota.analysis import MeanCurve, ScoreTable, group_runs, mean_curve
from rota.report._page import ReportPage
from rota.report._pieces import Table, Text, small
from rota.report._score_dots import average_dots, difference_dots
from rota.report._score_section import score_table
from rota.report._sparks import spark
from rota.report._summary import what_it_shows, what_ran
from rota.report._templates import render
from rota.report._words import percent
from rota.runlog import Run


def inline_html(what: Run | ScoreTable) -> str:
    """HTML that needs nothing beside it.

    Args:
        what: A run, finished or not; or the scores of several.

    >>> from rota.testing import written_run
    >>> page = inline_html(written_run({"rte": [0.5, 0.6], "mnli": [0.7, 0.8]}))
    >>> "mnli" in page, "<script" in page
    (True, False)
    """
    if isinstance(what, Run):
        page = ReportPage((what,), tuple(group_runs([what])))
        return _inline(page, [_tasks(page)])
    groups = tuple(row.group for row in what.rows)
    base = what.ranking.baseline
    page = ReportPage(tuple(run for group in groups for run in group.runs), groups, base.name if base else None)
    vars(page)["scores"] = what  # with the intervals that it has
    return _inline(page, [score_table(page)])


def _inline(page: ReportPage, tables: list[Table]) -> str:
    plots = [plot for plot in (average_dots(page), difference_dots(page)) if plot is not None]
    told = {"title": page.title, "ran": what_ran(page), "shown": what_it_shows(page)}
    return str(render("inline.html", **told, plots=plots, tables=tables))


def _tasks(page: ReportPage) -> Table:
    """A row for each task of one run: its score, and how its dev score, dev loss and share went."""
    (history,), (scores,), (shares,) = page.histories[page.groups[0].name], page.scores.rows, page.shares.values()
    style = page.method_styles[page.groups[0].name]

    def drawn(curve: MeanCurve | None) -> Text:
        return spark(curve, style, float(curve.mean.max())) if curve is not None and len(curve.steps) else ""

    over = small("over the updates")
    header: list[Text] = ["task", "score", ("dev score", over), ("dev loss", over), ("share", over), "share"]
    rows: list[list[Text]] = [
        [
            (task, " ", small("auxiliary")) if auxiliary else task,
            percent(scores.tasks[task].mean),
            drawn(mean_curve([history.score.get(task, {})])),
            drawn(mean_curve([history.loss.get(task, {})])),
            drawn(shares.courses.get(task)),
            percent(shares.overall.get(task, float("nan"))),
        ]
        for task, auxiliary in page.tasks.items()
    ]
    return Table(header, rows, rows_of="tasks")
