"""Dev loss and dev score over the run: one small panel per task, one line per method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.analysis import AVERAGE, Key, mean_curve
from rota.report._page import ReportPage
from rota.report._panels import curves_figure
from rota.report._pieces import Panel, Text, legend_buttons, small, strong
from rota.report._plots import figure_html
from rota.report._templates import render

if TYPE_CHECKING:
    from markupsafe import Markup


def curve_section(page: ReportPage) -> Markup:
    """Scores first, then losses; the average before the tasks."""
    kinds = {
        "Dev score, in percent": _panels(page, "score", 100.0),
        "Dev loss": _panels(page, "loss", 1.0),
    }
    return render("curves.html", buttons=legend_buttons(page.method_styles), kinds=kinds)


def _panels(page: ReportPage, what: str, scale: float) -> list[Panel]:
    panels = []
    for number, key in enumerate([AVERAGE, *page.tasks]):
        curves = {
            name: mean_curve([getattr(history, what).get(key, {}) for history in own])
            for name, own in page.histories.items()
        }
        if any(len(curve.steps) for curve in curves.values()):
            figure = curves_figure(curves, page.method_styles, scale)
            panels.append(Panel(_caption(key, page), figure_html(figure, f"{what}-{number}")))
    return panels


def _caption(key: Key, page: ReportPage) -> Text:
    if key is AVERAGE:
        return (strong("average"), " ", small("of the tasks that count"))
    return (key, " ", small("auxiliary")) if page.tasks[key] else key
