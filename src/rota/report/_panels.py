"""Small figures with a line, and a band, for each method or task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rota.analysis import MeanCurve
from rota.report._palette import LineStyle
from rota.report._plotly_text import label
from rota.report._plots import dress, plain, plotly_objects

HEIGHT = 230
MARGIN = {"l": 42, "r": 14, "t": 6, "b": 30}
CROWD = 8  # lines beyond which one box with all their numbers hides the panel
COLUMNS = 100  # of a panel, in which one can see a difference


def curves_figure(
    curves: Mapping[str, MeanCurve],
    styles: Mapping[str, LineStyle],
    scale: float = 1.0,
    columns: int = COLUMNS,
    minima: bool = False,
) -> Any:
    """Lines with bands, in one small figure.

    Args:
        curves: By the name of the line.
        styles: How each is drawn.
        scale: What numbers are multiplied with, such as 100 for percents.
        columns: How finely long curves are drawn.
        minima: Whether each line has a dot where it is lowest.
    """
    go = plotly_objects()
    figure = go.Figure()
    for name, curve in curves.items():
        if len(curve.steps):
            figure.add_trace(_line(go, name, thinned(curve, columns), styles[name], scale))
    for name, curve in curves.items() if minima else ():
        if curve.minimum and len(curve.steps) > 1:
            figure.add_trace(_lowest(go, name, curve.minimum, styles[name], scale))
    together = len(curves) <= CROWD
    dress(figure, HEIGHT, margin=MARGIN, hovermode="x unified" if together else "closest")
    figure.update_yaxes(nticks=6)
    return figure


def thinned(curve: MeanCurve, columns: int = COLUMNS) -> MeanCurve:
    """A long curve with fewer points that looks the same.

    A panel is about 300 pixels wide and a line two pixels thick, so some hundred columns are all that one sees: of each
    stay the points where the mean, the low or the high end is at an extreme, as they are. Short curves stay whole.
    """
    if len(curve.steps) <= columns:
        return curve
    first, last = curve.steps[0], curve.steps[-1]
    column = np.minimum((curve.steps - first) * columns // (last - first), columns - 1)
    kept = {0, len(column) - 1}
    for own in np.split(np.arange(len(column)), np.flatnonzero(np.diff(column)) + 1):
        kept |= {own[np.argmin(values[own])] for values in (curve.mean, curve.low)}
        kept |= {own[np.argmax(values[own])] for values in (curve.mean, curve.high)}
    at = np.array(sorted(kept))
    return MeanCurve(curve.steps[at], curve.mean[at], curve.low[at], curve.high[at], curve.runs[at])


def _line(go: Any, name: str, curve: MeanCurve, style: LineStyle, scale: float) -> Any:
    """A line; where it is a mean of several runs, with what page.js needs for a band around it."""
    single = len(curve.steps) == 1  # one point is no line
    several = curve.runs.max() > 1
    runs = curve.runs.tolist()
    band = {
        "low": plain(scale * curve.low),
        "high": plain(scale * curve.high),
        "runs": runs if len(set(runs)) > 1 else runs[0],
        "fill": style.shade(0.13),
    }
    more = " (%{customdata[0]:.4g} to %{customdata[1]:.4g}, n = %{customdata[2]})" if several else ""
    return go.Scatter(
        x=curve.steps.tolist(),
        y=plain(scale * curve.mean),
        mode="markers" if single else "lines",
        line={"color": style.colour, "dash": style.dash, "width": style.width},
        marker={"color": style.colour} if single else None,
        name=label(name),
        hovertemplate="%{y:.4g}" + more,
        legendgroup=name,
        meta=band if several else None,
    )


def _lowest(go: Any, name: str, minimum: tuple[int, float], style: LineStyle, scale: float) -> Any:
    step, value = minimum
    return go.Scatter(
        x=[step],
        y=plain([scale * value]),
        mode="markers",
        marker={"color": style.colour, "size": 7},
        legendgroup=name,
        hoverinfo="skip",
    )
