"""Dev loss and dev score over the run: one small panel per task, one line per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from rota.report._history import AVERAGE, History, Key
from rota.report._numbers import Curve, mean_curve, thinned
from rota.report._palette import Look
from rota.report._plots import dress, label, plain, plotly_objects, to_html

HEIGHT = 230
CROWD = 8  # methods beyond which one box with all their numbers hides the panel


def curve_panels(histories: Mapping[str, Sequence[History]], tasks: Mapping[str, bool], looks: dict[str, Look]) -> str:
    """All panels: scores first, then losses; the average before the tasks.

    Args:
        histories: Of the runs of each method.
        tasks: Each with whether it is auxiliary.
        looks: Of each method.
    """
    told = []
    for what, title, scale in (("score", "Dev score, in percent", 100.0), ("loss", "Dev loss", 1.0)):
        panels = []
        for number, key in enumerate([AVERAGE, *tasks]):
            curves = {name: _curve(own, what, key) for name, own in histories.items()}
            if not any(len(curve.steps) for curve in curves.values()):
                continue
            figure = to_html(panel(curves, looks, scale), f"{what}-{number}")
            panels.append(f'<figure class="panel"><figcaption>{_caption(key, tasks)}</figcaption>{figure}</figure>')
        if panels:
            told.append(f'<h3>{title}</h3><div class="panels">{"".join(panels)}</div>')
    return "".join(told) or "<p>No run has been evaluated yet.</p>"


def _curve(histories: Sequence[History], what: str, key: Key) -> Curve:
    return mean_curve([getattr(history, what).get(key, {}) for history in histories])


def panel(curves: Mapping[str, Curve], looks: dict[str, Look], scale: float) -> Any:
    """Lines with bands, in one small figure."""
    go = plotly_objects()
    figure = go.Figure()
    for name, curve in curves.items():
        if len(curve.steps):
            figure.add_trace(_line(go, name, thinned(curve), looks[name], scale))
    together = len(curves) <= CROWD
    dress(
        figure,
        HEIGHT,
        margin={"l": 42, "r": 14, "t": 6, "b": 30},
        hovermode="x unified" if together else "closest",
    )
    figure.update_yaxes(nticks=6)
    return figure


def _line(go: Any, name: str, curve: Curve, look: Look, scale: float) -> Any:
    """A line; where it is a mean of several runs, with what page.js needs for a band around it."""
    single = len(curve.steps) == 1  # one point is no line
    several = curve.runs.max() > 1
    runs = curve.runs.tolist()
    band = {
        "low": plain(scale * curve.low),
        "high": plain(scale * curve.high),
        "runs": runs if len(set(runs)) > 1 else runs[0],
        "fill": look.shade(0.13),
    }
    more = " (%{customdata[0]:.4g} to %{customdata[1]:.4g}, n = %{customdata[2]})" if several else ""
    return go.Scatter(
        x=curve.steps.tolist(),
        y=plain(scale * curve.mean),
        mode="markers" if single else "lines",
        line={"color": look.colour, "dash": look.dash, "width": look.width},
        marker={"color": look.colour} if single else None,
        name=label(name),
        hovertemplate="%{y:.4g}" + more,
        legendgroup=name,
        meta=band if several else None,
    )


def _caption(key: Key, tasks: Mapping[str, bool]) -> str:
    if key is AVERAGE:
        return "<strong>average</strong> <small>of the tasks that count</small>"
    return f"{escape(key)} <small>auxiliary</small>" if tasks[key] else escape(key)
