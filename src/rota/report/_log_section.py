"""Mixtures beside the sizes of data sets, and what logs said about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rota.analysis import LogAccount, MixtureAccounts, mixture_accounts
from rota.report._page import ReportPage
from rota.report._pieces import Table, Text, small
from rota.report._templates import render
from rota.report._words import number, percent

if TYPE_CHECKING:
    from markupsafe import Markup


def log_section(page: ReportPage) -> Markup | None:
    """Two tables, the second where there are logs; None where no run has a fixed mixture of its own."""
    found = mixture_accounts(page.groups)
    if found is None:
        return None
    header: list[Text] = ["method", ("reward", small("of the log")), ("estimated", small("for the mixture"))]
    header += [("effective", small("decisions")), ("realised", small("reward"))]
    header += [("score", small("of the log")), ("score", small("with the mixture"))]
    estimates = Table(header, [[page.named(name), *_row(own)] for name, own in found.accounts.items()])
    return render("logs.html", seeds=page.repeated, shares=_shares(page, found), estimates=estimates)


def _shares(page: ReportPage, found: MixtureAccounts) -> Table:
    header: list[Text] = ["task", "training rows", "share of rows", *map(page.named, found.shares)]
    header += ["twice the visits"] if found.doubled else []
    rows = []
    for task in next(iter(found.shares.values())):
        size = found.rows.get(task, np.nan)
        row = [task, number(size, 0), number(size / sum(found.rows.values()), 3)]
        row += [number(own[task], 3) for own in found.shares.values()]
        row += [f"{found.doubled[task]:+.3f}" if task in found.doubled else "–"] if found.doubled else []
        rows.append(row)
    return Table(header, rows)


def _row(own: LogAccount) -> list[Text]:
    return [
        number(own.earned, 3),
        (number(own.estimated, 3), " ", small(f"{number(own.low, 3)} to {number(own.high, 3)}")),
        number(own.effective, 0),
        number(own.realised, 3),
        percent(own.before),
        percent(own.after),
    ]
