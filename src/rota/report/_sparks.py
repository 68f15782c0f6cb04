"""Curves as small as a word."""

from __future__ import annotations

import numpy as np

from rota.analysis import MeanCurve
from rota.report._palette import LineStyle
from rota.report._pieces import Spark

POINTS, WIDE, TALL = 25, 100, 20
"""At most so many points, in a box of this size."""


def spark(curve: MeanCurve, style: LineStyle, top: float) -> Spark:
    """The mean of a curve, from zero to `top`."""
    at = np.unique(np.linspace(0, len(curve.steps) - 1, min(POINTS, len(curve.steps))).round().astype(int))
    steps, values = curve.steps[at].astype(float), curve.mean[at]
    across = WIDE * (steps - steps[0]) / max(steps[-1] - steps[0], 1.0)
    down = TALL - 1 - (TALL - 2) * np.clip(values / (top or 1.0), 0, 1)
    points = list(zip(across.round().astype(int), down.round(1), strict=True))
    if len(points) == 1:
        points = [(0, points[0][1]), (WIDE, points[0][1])]
    return Spark(" ".join(f"{x},{y:g}" for x, y in points), style)
