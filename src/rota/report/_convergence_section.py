"""When do tasks converge, and together?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.analysis import convergence, uncertainty_trends
from rota.report._page import ReportPage
from rota.report._pieces import Table, Text
from rota.report._templates import render
from rota.report._words import number

if TYPE_CHECKING:
    from markupsafe import Markup


def convergence_section(page: ReportPage) -> Markup | None:
    """Two tables, the second only where somebody made surveys; None where no run was evaluated twice."""
    minima = _minima(page)
    return render("convergence.html", minima=minima, trends=_trends(page)) if minima else None


def _minima(page: ReportPage) -> Table | None:
    found = convergence(page.groups, page.histories)
    if not found:
        return None
    compared = any(own.sooner is not None for own in found.values())
    rows: list[list[Text]] = []
    for name, own in found.items():
        row: list[Text] = [page.named(name), *(number(step, 0) for step in own.lowest.values())]
        row += [number(own.spread, 1), number(own.excess, 4)]
        row += ["" if own.sooner is None else number(own.sooner, 2)] if compared else []
        rows.append(row)
    tasks = next(iter(found.values())).lowest
    return Table(["method", *tasks, "spread", "excess", *(["sooner than union"] if compared else [])], rows)


def _trends(page: ReportPage) -> Table | None:
    found = uncertainty_trends(page.groups, page.histories)
    if not found:
        return None
    rows = [[page.named(name), *(number(tau, 2) for tau in own.values())] for name, own in found.items()]
    return Table(["method", *next(iter(found.values()))], rows)
