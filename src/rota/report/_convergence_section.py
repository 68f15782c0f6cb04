"""When do tasks converge, and together?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rota.analysis import Convergence, convergence, uncertainty_trends
from rota.report._page import ReportPage
from rota.report._pieces import Table, Text
from rota.report._task_tables import by_task
from rota.report._templates import render
from rota.report._words import number

if TYPE_CHECKING:
    from markupsafe import Markup


def convergence_section(page: ReportPage) -> Markup | None:
    """When each task was best, how far apart that was, and trends where there were surveys; None where no run was
    evaluated twice."""
    found = convergence(page.groups, page.histories)
    if not found:
        return None
    trends = uncertainty_trends(page.groups, page.histories)
    return render(
        "convergence.html",
        minima=by_task(page, {name: own.lowest for name, own in found.items()}, lambda step: number(step, 0)),
        together=_together(page, found),
        union=any(own.sooner is not None for own in found.values()),
        trends=by_task(page, trends, lambda tau: number(tau, 2)) if trends else None,
        seeds=page.repeated,
    )


def _together(page: ReportPage, found: Mapping[str, Convergence]) -> Table:
    compared = any(own.sooner is not None for own in found.values())
    rows: list[list[Text]] = []
    for name, own in found.items():
        row: list[Text] = [page.named(name), number(own.spread, 1), number(own.excess, 4), number(own.pooled_excess, 4)]
        row += ["" if own.sooner is None else number(own.sooner, 2)] if compared else []
        rows.append(row)
    return Table(["method", "spread", "excess", "excess, pooled", *(["sooner than union"] if compared else [])], rows)
