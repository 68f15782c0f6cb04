"""Would more updates help, and how far can one trust such a prediction?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.analysis import Outlook, outlook
from rota.report._page import ReportPage
from rota.report._pieces import Text, small
from rota.report._task_tables import by_task
from rota.report._templates import render
from rota.report._words import percent

if TYPE_CHECKING:
    from markupsafe import Markup


def outlook_section(page: ReportPage) -> Markup | None:
    """Two tables; None where no run was evaluated often enough."""
    found = outlook(page.groups, page.histories)
    if not found:
        return None
    return render(
        "outlook.html",
        gains=by_task(page, found, _gain),
        checks=by_task(page, found, _check),
        seeds=page.repeated,
    )


def _gain(own: Outlook) -> Text:
    low, high = own.gain - own.reach, own.gain + own.reach
    told = f"{percent(low, signed=True)} to {percent(high, signed=True)}"
    return (percent(own.gain, signed=True), " ", small(told))


def _check(own: Outlook) -> Text:
    told = f"{percent(own.predicted)}, was {percent(own.realised)} "
    return (told, small(f"({own.held} of {own.runs})"))
