"""One picture of a comparison: what each method trained on, and the scores. For a README or a slide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rota.analysis import MeanCurve, group_runs
from rota.errors import RotaError
from rota.report._document import write_file
from rota.report._dots import round_step
from rota.report._page import ReportPage
from rota.report._palette import LineStyle
from rota.report._templates import render
from rota.runlog import Run

WIDTH, TALL = 960, 230  # in pixels; the panels share the width
LEFT, GAP, TOP, BOTTOM = 34, 16, 40, 24
SCORES = 330  # width of the scores with their names and numbers
NAMES, NUMBERS = 96, 84  # of which names and numbers have so much
MOST = 5  # panels of tasks: those that count come first


@dataclass(frozen=True)
class _Line:
    style: LineStyle
    points: str


@dataclass(frozen=True)
class _SharePanel:
    task: str
    x: float
    lines: list[_Line]


@dataclass(frozen=True)
class _ScoreRow:
    name: str
    style: LineStyle
    y: float
    x: float
    low: float
    high: float
    told: str


def write_picture(runs: Sequence[Run], picture: Path, *, names: Mapping[Path, str] | None = None) -> None:
    """Write an SVG: the share of the updates that each method gave to each task, and the average score of each method
    with its 95 % interval.

    Args:
        runs: Finished ones, of several methods.
        picture: The file to write; one that exists is replaced.
        names: What to call the runs in these folders; those of one name are one group.

    >>> import tempfile
    >>> from rota.testing import written_run
    >>> runs = [written_run({"rte": [0.50], "mnli": [0.7]}, name, every=40) for name in ("uniform", "exp3s")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_picture(runs, Path(folder) / "picture.svg")
    ...     (Path(folder) / "picture.svg").read_text()[:4]
    '<svg'
    """
    page = ReportPage(tuple(runs), tuple(group_runs(runs, names)))
    rows = [row for row in page.scores.rows if row.average.n]
    if not rows:
        raise RotaError("A picture expects finished runs. Found none with a score.")
    known = {task for own in page.shares.values() for task in own.courses}
    drawn = [task for task in page.tasks if task in known][:MOST]
    panel = (WIDTH - SCORES - LEFT - GAP * len(drawn)) / len(drawn)
    curves = {
        task: {name: own.courses[task] for name, own in page.shares.items() if task in own.courses} for task in drawn
    }
    ends = [float(end) for own in curves.values() for curve in own.values() for end in (*curve.mean, 0.0)]
    highest = round_step(max(ends))
    steps = max(int(curve.steps[-1]) for own in curves.values() for curve in own.values())
    panels = [
        _SharePanel(
            task,
            LEFT + place * (panel + GAP),
            [_line(page.method_styles[name], curve, steps, highest, panel) for name, curve in curves[task].items()],
        )
        for place, task in enumerate(drawn)
    ]
    text = render(
        "picture.svg",
        width=WIDTH,
        tall=TALL,
        top=TOP,
        bottom=TALL - BOTTOM,
        panel=panel,
        panels=panels,
        highest=f"{100 * highest:.0f} %",
        steps=f"{steps:,}",
        scores=_score_rows(page),
        names=WIDTH - SCORES + GAP,
        left=WIDTH - SCORES + GAP + NAMES,
        right=WIDTH - NUMBERS,
        split=page.scores.ranking.split,
    )
    write_file(picture, str(text))


def _line(style: LineStyle, curve: MeanCurve, steps: int, highest: float, panel: float) -> _Line:
    x = panel * curve.steps / max(steps, 1)
    y = (TALL - BOTTOM) - (TALL - BOTTOM - TOP) * np.minimum(curve.mean / highest, 1.0)
    return _Line(style, " ".join(f"{across:.1f},{down:.1f}" for across, down in zip(x, y, strict=True)))


def _score_rows(page: ReportPage) -> list[_ScoreRow]:
    rows = [row for row in page.scores.rows if row.average.n]
    found = [(row.group.name, row.average.mean, *row.average.interval) for row in rows]
    known = [number for _, *numbers in found for number in numbers if np.isfinite(number)]
    low, high = min(known), max(known)
    left, right = WIDTH - SCORES + GAP + NAMES, WIDTH - NUMBERS - GAP

    def across(number: float, instead: float) -> float:
        number = number if np.isfinite(number) else instead
        return left + (right - left) * (number - low) / ((high - low) or 1.0)

    apart = (TALL - BOTTOM - TOP) / len(found)
    return [
        _ScoreRow(
            name,
            page.method_styles[name],
            TOP + apart * (place + 0.5),
            across(mean, mean),
            across(least, mean),
            across(most, mean),
            f"{100 * mean:.1f}",
        )
        for place, (name, mean, least, most) in enumerate(found)
    ]
