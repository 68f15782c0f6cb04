"""Dev loss and dev score over the run: one small panel per task, one line per method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from rota.analysis import AVERAGE, Key, MeanCurve, RunHistory, mean_curve
from rota.report._many_tasks import foremost, left_out
from rota.report._page import ReportPage
from rota.report._panels import curves_figure
from rota.report._pieces import Panel, Text, legend_buttons, small, strong
from rota.report._plots import figure_html
from rota.report._templates import render

if TYPE_CHECKING:
    from markupsafe import Markup

POOLED: Key = ""
"""Stands where a task's name stands, for the mean over the dev rows of all tasks that count. No task is called so."""


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
        centre="medians" if page.medians else "means",
    )


def _panels(page: ReportPage, what: str, scale: float) -> list[Panel]:
    curves: dict[Key, dict[str, MeanCurve]] = {
        key: {
            name: mean_curve([_series(history, what, key) for history in own], page.medians)
            for name, own in page.histories.items()
        }
        for key in [AVERAGE, *page.tasks, *([POOLED] if what == "loss" else [])]
    }
    known = [task for task in page.tasks if _reach(curves[task]) is not None]
    keys: list[Key] = [AVERAGE] if _reach(curves[AVERAGE]) is not None and len(known) != 1 else []
    last: list[Key] = [POOLED] if keys and what == "loss" and _pooling_matters(page) else []
    panels = []
    for number, key in enumerate([*keys, *foremost(known, lambda task: _reach(curves[task]) or 0.0), *last]):
        figure = curves_figure(curves[key], page.method_styles, scale, page.columns, minima=what == "loss")
        panels.append(Panel(_caption(key, page), figure_html(figure, f"{what}-{number}")))
    return panels


def _series(history: RunHistory, what: str, key: Key) -> dict[int, float]:
    if key == POOLED:
        return history.pooled_loss
    found: dict[int, float] = getattr(history, what).get(key, {})
    return found


def _pooling_matters(page: ReportPage) -> bool:
    """Not where all dev sets have the same number of rows."""
    pairs = [
        (value, history.loss.get(AVERAGE, {}).get(step))
        for own in page.histories.values()
        for history in own
        for step, value in history.pooled_loss.items()
    ]
    return any(mean is not None and abs(value - mean) > 1e-9 * abs(mean) for value, mean in pairs)


def _reach(curves: Mapping[str, MeanCurve]) -> float | None:
    """From the lowest mean to the highest; None without any."""
    known = [curve.mean for curve in curves.values() if len(curve.steps)]
    return float(np.ptp(np.concatenate(known))) if known else None


def _caption(key: Key, page: ReportPage) -> Text:
    if key is AVERAGE:
        return (strong("average"), " ", small("of the tasks that count"))
    if key == POOLED:
        return (strong("all dev rows"), " ", small("of the tasks that count"))
    return (key, " ", small("auxiliary")) if page.tasks[key] else key
