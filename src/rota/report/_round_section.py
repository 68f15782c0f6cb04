"""What rounds of branches did, and the scores of the task that they are for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rota.analysis import (
    JOINT_TRIES,
    KEPT_TRY,
    LOSS_AFTER,
    LOSS_BEFORE,
    BranchRounds,
    TargetScores,
    mean_curve,
    read_rounds,
    spread,
    target_scores,
)
from rota.report._page import ReportPage
from rota.report._palette import GREY, LineStyle
from rota.report._panels import curves_figure
from rota.report._pieces import Panel, Table, Text, legend_buttons, small, strong
from rota.report._plots import figure_html
from rota.report._round_table import round_table
from rota.report._templates import render
from rota.report._words import counted, percent

if TYPE_CHECKING:
    from markupsafe import Markup

POINTS = 100  # of a curve, at most: many rounds must not make a large page
FEW = 6  # rounds up to which each has its tick
THICK = 3.5  # the line of the target
LINES = {
    LOSS_BEFORE: LineStyle(GREY, "dot"),
    LOSS_AFTER: LineStyle(GREY),
    KEPT_TRY: LineStyle(GREY, "dash"),
    JOINT_TRIES: LineStyle(GREY),
}
"""Of those that are no tasks."""

CAPTIONS: dict[str, Text] = {
    "alpha": "α",
    "weight": "weight, as a share",
    "loss": (
        "dev loss ",
        small(LINES[LOSS_BEFORE], f" {LOSS_BEFORE} ", LINES[LOSS_AFTER], f" {LOSS_AFTER}"),
    ),
    "norm": "length of δ",
    "cosine": "cosine of δ with the target's",
    "score": ("dev score ", small("in percent, ", LINES[KEPT_TRY], f" {KEPT_TRY}")),
    "tries": "joint tries",
}
"""In the order of the panels. A run has those that its log knows."""


@dataclass(frozen=True)
class DrawnRounds:
    """What the template shows of a method that works in rounds.

    Args:
        title: Its name.
        target: The task that the rounds are for.
        panels: Its figures.
        course: α and weights of some rounds.
        diverged: Whose branches diverged, and how often.
    """

    title: Text
    target: str | None
    panels: list[Panel]
    course: Table
    diverged: str


def round_section(page: ReportPage) -> Markup | None:
    """Curves of the methods that work in rounds, then the target's scores with all methods; None without a round."""
    courses = {group.name: [read_rounds(run) for run in group.runs] for group in page.groups}
    methods, tasks = [], dict[str, LineStyle]()
    for place, group in enumerate(page.groups):
        own = courses[group.name]
        if any(course.number for course in own):
            panels = _panels(own, page.task_styles, f"rounds-{place}")
            methods.append(DrawnRounds(page.named(group.name), own[0].target, panels, round_table(own), _diverged(own)))
            tasks |= {task: page.task_styles[task] for task in group.runs[0].info["tasks"]}
    if not methods:
        return None
    scores = target_scores(page.groups)
    return render(
        "rounds.html",
        seeds=page.repeated,
        measured={name for own in courses.values() for course in own for name in course.series},
        buttons=legend_buttons(tasks),
        methods=methods,
        borrowed=any(own.borrowed for own in scores),
        tables={own.target: _table(page, own) for own in scores},
    )


def _panels(courses: Sequence[BranchRounds], tasks: Mapping[str, LineStyle], name: str) -> list[Panel]:
    """Figure 3 of Kourdis et al. 2024 (α and weights), then deltas and scores."""
    target = courses[0].target
    styles = LINES | {task: replace(style, width=THICK) if task == target else style for task, style in tasks.items()}
    every = [course.series for course in courses]
    last = max((at for own in every for lines in own.values() for curve in lines.values() for at in curve), default=0)
    stride = -(-(last + 1) // POINTS)
    panels = []
    for number, (key, caption) in enumerate(CAPTIONS.items()):
        lines = dict.fromkeys(line for own in every for line in own.get(key, {}))
        if not lines:
            continue
        curves = {line: mean_curve([_thin(own.get(key, {}).get(line, {}), stride) for own in every]) for line in lines}
        figure = curves_figure(curves, styles)
        if last:
            figure.update_xaxes(range=[0, last])  # the same for all, so that they can be compared
        if last <= FEW:
            figure.update_xaxes(dtick=1)
        if key == "alpha":
            figure.add_hline(y=1, line={"color": GREY, "width": 1, "dash": "dot"})
        if key in ("norm", "tries"):
            figure.update_yaxes(rangemode="tozero")
        panels.append(Panel(caption, figure_html(figure, f"{name}-{number}")))
    return panels


def _thin(curve: Mapping[int, float], stride: int) -> dict[int, float]:
    """Every so many rounds, the same in every run; not smoothed, for each round stands for itself."""
    return {at: value for at, value in curve.items() if at % stride == 0}


def _diverged(courses: Sequence[BranchRounds]) -> str:
    """Nothing where no branch did."""
    found = sum((course.diverged for course in courses), Counter[str]())
    if not found:
        return ""
    told = ", ".join(f"{task} in {times}" for task, times in sorted(found.items()))
    return f"{told} of {counted(sum(course.number for course in courses), 'round')}"


def _table(page: ReportPage, found: TargetScores) -> Table:
    """Smallest, largest, mean and deviation over seeds; the highest mean stands out."""
    splits = found.values.items()
    top = {split: max(spread(values).mean for values in own.values() if values) for split, own in splits}
    header: list[Text] = [(what, small(split)) for split in top for what in ("min", "max", "mean", "std")]
    rows: list[list[Text]] = []
    for group in found.groups:
        row: list[Text] = [page.named(group.name)]
        for split, own in splits:
            values = own[group.name]
            over = spread(values)
            mean = percent(over.mean)
            row += [percent(min(values, default=np.nan)), percent(max(values, default=np.nan))]
            row += [strong(mean) if over.mean == top[split] else mean, percent(over.std)]
        rows.append([*row, str(len(group.finished))])
    return Table(["method", *header, "runs"], rows if top else [])
