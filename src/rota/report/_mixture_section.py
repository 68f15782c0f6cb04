"""Losses over updates, and below them what the mixture did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.report._mixture_figure import mixture_figure
from rota.report._page import ReportPage
from rota.report._palette import AGGREGATE
from rota.report._pieces import LegendButton
from rota.report._plots import figure_html
from rota.report._templates import render

if TYPE_CHECKING:
    from markupsafe import Markup


def mixture_section(page: ReportPage) -> Markup:
    """One wide figure, with a column for each method."""
    buttons = [
        LegendButton(f"task {task}", task, page.task_styles[task], "auxiliary" if auxiliary else "")
        for task, auxiliary in page.tasks.items()
    ]
    figure, narrowest, widest = mixture_figure(page.histories, page.method_styles, page.task_styles)
    return render(
        "mixtures.html",
        buttons=[*buttons, LegendButton("average", "average", AGGREGATE)],
        figure=figure_html(figure, "mixtures"),
        narrowest=narrowest,
        widest=widest,
    )
