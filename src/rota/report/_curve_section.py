"""Dev loss and dev score over the run: one small panel per task, one line per method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from rota.analysis import AVERAGE, Key, MeanCurve, mean_curve
from rota.report._many_tasks import foremost, left_out
from rota.report._page import ReportPage
from rota.report._panels import curves_figure
from rota.report._pieces import Panel, Text, legend_buttons, small, strong
from rota.report._plots import figure_html
from rota.report._templates import render

if TYPE_CHECKING:
    from markupsafe import Markup


def curve_section(page: ReportPage) -> Markup | None:
    """Scores first, then losses; the average before the tasks. None where no run was evaluated."""
    kinds = {
        "Dev score, in percent": _panels(page, "score", 100.0),
        "Dev loss": _panels(page, "loss", 1.0),
    }
    drawn = {title: panels for title, panels in kinds.items() if panels}
    if not drawn:
        return None
    return render(
        "curves.html",
        buttons=legend_buttons(page.method_styles),
        kinds=drawn,
        left_out=left_out(len(page.tasks), "those whose curves reach farthest", ""),
        seeds=page.repeated,
    )


def _panels(page: ReportPage, what: str, scale: float) -> list[Panel]:
    curves: dict[Key, dict[str, MeanCurve]] = {
        key: {
            name: mean_curve([getattr(history, what).get(key, {}) for history in own])
            for name, own in page.histories.items()
        }
        for key in [AVERAGE, *page.tasks]
    }
    known = [task for task in page.tasks if _reach(curves[task]) is not None]
    keys: list[Key] = [AVERAGE] if _reach(curves[AVERAGE]) is not None and len(known) != 1 else []
    panels = []
    for number, key in enumerate([*keys, *foremost(known, lambda task: _reach(curves[task]) or 0.0)]):
        figure = curves_figure(curves[key], page.method_styles, scale, page.columns, minima=what == "loss")
        panels.append(Panel(_caption(key, page), figure_html(figure, f"{what}-{number}")))
    return panels


def _reach(curves: Mapping[str, MeanCurve]) -> float | None:
    """From the lowest mean to the highest; None without any."""
    known = [curve.mean for curve in curves.values() if len(curve.steps)]
    return float(np.ptp(np.concatenate(known))) if known else None


def _caption(key: Key, page: ReportPage) -> Text:
    if key is AVERAGE:
        return (strong("average"), " ", small("of the tasks that count"))
    return (key, " ", small("auxiliary")) if page.tasks[key] else key
