"""Figure 3 of Kourdis et al. (2024) as a table: α and the weights of some rounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rota.analysis import BranchRounds, spread
from rota.report._pieces import Table, Text, small
from rota.report._words import number

SHOWN = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
"""Shares of the rounds after which a row is shown."""
MEASURES = {"alpha": "α", "weight": "weight"}


def round_table(courses: Sequence[BranchRounds]) -> Table:
    """Mean and standard deviation over the seeds, of few rounds from the first to the last one.

    >>> course = BranchRounds("rte", {"weight": {"rte": {0: 0.5, 1: 0.75}, "mnli": {0: 0.5, 1: 0.25}}}, number=2)
    >>> round_table([course]).rows
    [['0', '0.500', '0.500'], ['1', '0.750', '0.250']]
    """
    last = max((course.number for course in courses), default=0) - 1
    columns = [
        (measure, task)
        for measure in MEASURES
        for task in dict.fromkeys(task for course in courses for task in course.series.get(measure, {}))
    ]
    shown = sorted({round(share * last) for share in SHOWN}) if last >= 0 and columns else []
    rows: list[list[Text]] = [
        [
            str(at),
            *(_told([own.series.get(measure, {}).get(task, {}) for own in courses], at) for measure, task in columns),
        ]
        for at in shown
    ]
    header: list[Text] = [(MEASURES[measure], " ", small(task)) for measure, task in columns]
    return Table(["round", *header], rows)


def _told(curves: Sequence[dict[int, float]], at: int) -> str:
    found = spread(curve[at] for curve in curves if at in curve)
    deviation = "" if found.n < 2 or np.isnan(found.std) else f" ± {number(found.std, 3)}"
    return f"{number(found.mean, 3)}{deviation}"
