"""Which ratios of tasks searches tried, what they found, and what they believe about others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.analysis import SearchRecord, comparable_searches, finished_trial, read_searches
from rota.report._page import ReportPage
from rota.report._palette import LineStyle, method_styles
from rota.report._pieces import LegendButton, Panel, Table, TableCell, Text, small, strong
from rota.report._plots import figure_html
from rota.report._search_figures import (
    ESTIMATE,
    ESTIMATED,
    course_figure,
    ratio_of,
    score_of,
    slice_figures,
    state_of,
)
from rota.report._templates import render
from rota.report._words import percent

if TYPE_CHECKING:
    from markupsafe import Markup

LISTED = 12  # ratios in a table, at most


@dataclass(frozen=True)
class DrawnSearch:
    """What the template shows of a search.

    Args:
        record: What it says.
        style: How it is drawn.
        slices: What it believes about other ratios, a panel for each task.
        table: Its best ratios.
        left_out: How many ratios are not in the table.
    """

    record: SearchRecord
    style: LineStyle
    slices: list[Panel]
    table: Table
    left_out: int


@dataclass(frozen=True)
class DrawnFamily:
    """Searches that share a panel.

    Args:
        course: Their scores; None where no trial has one yet.
        searches: One or several, of the same tasks.
    """

    course: Panel | None
    searches: list[DrawnSearch]


def search_section(page: ReportPage) -> Markup | None:
    """For each set of tasks the course of its searches; for each search what it believes, and its ratios. None where
    no run has a search inside of it, or is a training of one."""
    found = read_searches(page.runs)
    if not found:
        return None
    styles = method_styles(one.name for one in found)
    guessed = any(one.random for one in found)
    buttons = [LegendButton(one.name, one.name, styles[one.name], one.sampler) for one in found]
    families = enumerate(comparable_searches(found))
    return render(
        "search.html",
        estimate=ESTIMATE if guessed else "",
        believed=any(one.slices for one in found),
        buttons=[*buttons, *([LegendButton(ESTIMATE, ESTIMATE, ESTIMATED)] if guessed else [])],
        listed=LISTED,
        families=[_family(own, styles, f"search-{number}") for number, own in families],
    )


def _family(own: Sequence[SearchRecord], styles: Mapping[str, LineStyle], name: str) -> DrawnFamily:
    course = None
    if any(trial["value"] is not None for one in own for trial in one.tried):
        guess = (" ", small(ESTIMATED, " of a random search, as the model estimates it"))
        caption = ("best score so far", guess if any(one.random for one in own) else "")
        course = Panel(caption, figure_html(course_figure(own, styles), name))
    searches = []
    for place, one in enumerate(own):
        figures = slice_figures(one, styles[one.name])
        slices = [
            Panel(f"more or less of {task}", figure_html(figure, f"{name}-{place}-{number}"))
            for number, (task, figure) in enumerate(figures.items())
        ]
        left_out = max(0, len(one.tried) - LISTED)
        searches.append(DrawnSearch(one, styles[one.name], slices, _table(one), left_out))
    return DrawnFamily(course, searches)


def _table(search: SearchRecord) -> Table:
    """The best ratios, the best of all in bold; those that were stopped come last."""
    seeds = any(len(trial["values"]) > 1 for trial in search.tried)
    header: list[Text] = ["ratio", "trial", *((task, small("% of batches")) for task in search.tasks), "score"]
    header += [*([("score", small("of each seed"))] if seeds else []), "proposed by", "state"]
    rows = []
    for trial in search.ranked[:LISTED]:
        ratio: Text = ratio_of(trial)
        score: Text = score_of(trial)
        if search.best is not None and trial["number"] == search.best["number"]:
            ratio, score = strong(ratio), strong(score)
        total = sum(trial["ratio"].values())
        row: list[TableCell | Text] = [ratio, str(trial["number"] + 1)]
        row += [percent(trial["ratio"][task] / total if total else np.nan) for task in search.tasks]
        row += [score if finished_trial(trial) else TableCell(score, "dim")]
        row += [", ".join("–" if own is None else percent(own) for own in trial["values"]) or "–"] if seeds else []
        rows.append([*row, _proposer(trial, search.sampler), state_of(trial)])
    return Table(header, rows)


def _proposer(trial: Mapping[str, Any], sampler: str) -> str:
    return trial["acquisition"] or (sampler if sampler == "grid" else "random")
