"""Costs: one row per method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rota.analysis import COST_COLUMNS, all_exposures, used_cost_columns
from rota.report._page import ReportPage
from rota.report._pieces import Table, Text, em
from rota.report._templates import render
from rota.runlog import Ledger

if TYPE_CHECKING:
    from markupsafe import Markup


def cost_section(page: ReportPage) -> Markup:
    """What a run cost on average, and what it was trained on."""
    return render("costs.html", costs=cost_table(page), exposures=exposure_table(page))


def exposure_table(page: ReportPage) -> Table:
    """Passes over the rows of each task; no row where no finished run counted them."""
    exposures = all_exposures(page.groups)
    tasks = list(dict.fromkeys(task for own in exposures for task in own.rows))
    rows: list[list[Text]] = [
        [
            page.named(own.group.name),
            own.budget,
            *(f"{own.passes[task]:.2f}" if own.rows.get(task) else "–" for task in tasks),
            f"{sum(own.rows.values()):,.0f}",
        ]
        for own in exposures
    ]
    note = "What a run was trained on, in passes over the rows of each task; what a method took back is a cost alone."
    return Table(["method", "budget", *tasks, "rows"], rows, note=note)


def cost_table(page: ReportPage) -> Table:
    """Counts, forward equivalents and seconds; no row where no run is finished."""
    costs, used = {cost.group.name: cost for cost in page.costs}, used_cost_columns(page.groups)
    several = len(page.groups) > 1
    if not costs:
        return Table([], [], note="No run is finished, so there is no account yet.")
    rows: list[list[Text]] = []
    for group in page.groups:
        name, cost = page.named(group.name), costs.get(group.name)
        if cost is None:
            rows.append([name, *["–"] * (len(used) + 2 + several)])
            continue
        relative = ["–" if np.isnan(cost.relative) else f"{cost.relative:.2f}×"] if several else []
        counts = [f"{cost.counts[column]:,.0f}" for column in used]
        rows.append([name, *counts, f"{cost.forward_equivalents:,.0f}", *relative, f"{cost.seconds:,.1f}"])
    header = ["method", *(_title(name) for name in used), "forward equivalents"]
    header += [*(["relative"] if several else []), "seconds"]
    return Table(header, rows, note=_note(used, page))


def _note(used: Sequence[str], page: ReportPage) -> Text:
    counted = tuple((em(_title(name)), f": {COST_COLUMNS[name]}; ") for name in used)
    means = "Means over the finished runs of a method. " if page.repeated else ""
    compared: Text = (em("relative"), ": to the cheapest method; ") if len(page.groups) > 1 else ""
    return (
        means,
        counted,
        em("forward equivalents"),
        ": what training and scoring cost in forward passes of one example, a backward pass counting as "
        f"{Ledger.BACKWARD} (evaluation is left out); ",
        compared,
        em("seconds"),
        ": time on the clock, which depends on the machine and on what ran beside it.",
    )


def _title(column: str) -> str:
    return column.replace("_", " ")
