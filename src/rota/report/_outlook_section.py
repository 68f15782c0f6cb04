"""Would more updates help, and how far can one trust such a prediction?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rota.analysis import Outlook, outlook
from rota.report._page import ReportPage
from rota.report._pieces import Table, Text, small
from rota.report._templates import render
from rota.report._words import percent

if TYPE_CHECKING:
    from markupsafe import Markup


def outlook_section(page: ReportPage) -> Markup | None:
    """Two tables; None where no run was evaluated often enough."""
    found = outlook(page.groups, page.histories)
    if not found:
        return None
    tasks = list(dict.fromkeys(task for own in found.values() for task in own))

    def table(cell: Callable[[Outlook], Text]) -> Table:
        rows = [
            [page.named(name), *(cell(own[task]) if task in own else "–" for task in tasks)]
            for name, own in found.items()
        ]
        return Table(["method", *tasks], rows)

    return render("outlook.html", gains=table(_gain), checks=table(_check))


def _gain(own: Outlook) -> Text:
    low, high = own.gain - own.reach, own.gain + own.reach
    told = f"{percent(low, signed=True)} to {percent(high, signed=True)}"
    return (percent(own.gain, signed=True), " ", small(told))


def _check(own: Outlook) -> Text:
    told = f"{percent(own.foretold)}, was {percent(own.realised)} "
    return (told, small(f"({own.held} of {own.runs})"))
