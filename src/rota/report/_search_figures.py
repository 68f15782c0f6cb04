"""The scores of a search, trial by trial, and what it believes about other ratios."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rota.analysis import SearchRecord, finished_trial
from rota.report._palette import GREY, LineStyle
from rota.report._panels import MARGIN
from rota.report._plotly_text import label, pointer
from rota.report._plots import dress, plain, plotly_objects
from rota.report._words import percent

FEW, MANY = 8, 24  # batches and trials up to which each number has its tick
TALL, LOW = 250, 190  # heights in pixels
ESTIMATE = "random, estimated"
ESTIMATED = LineStyle(GREY, "dot")
STATES = {"done": "done", "pruned": "stopped early", "reused": "known before"}


def ratio_of(trial: Mapping[str, Any]) -> str:
    """As people write it, such as 3:1."""
    return ":".join(f"{part:g}" for part in trial["ratio"].values())


def score_of(trial: Mapping[str, Any]) -> str:
    """In percent, or a dash."""
    return "–" if trial["value"] is None else percent(trial["value"])


def state_of(trial: Mapping[str, Any]) -> str:
    """How it ended."""
    return STATES.get(trial["state"], trial["state"])


def course_figure(searches: Sequence[SearchRecord], styles: Mapping[str, LineStyle]) -> Any:
    """Best scores so far, all trials, and what random ratios are expected to reach."""
    go = plotly_objects()
    figure = go.Figure()
    low, high = _range(searches)
    floor = low + 0.04 * (high - low)
    for one in (own for own in searches if own.random):
        said = pointer(f"random, as the model of {label(one.name)} estimates it: %{{y:.1f}}")
        common = {"legendgroup": ESTIMATE, "name": ESTIMATE, "hovertemplate": said}
        figure.add_trace(_line(range(1, len(one.random) + 1), one.random, ESTIMATED, **common))
    for one in searches:
        style, best = styles[one.name], one.best_so_far
        common = {"legendgroup": one.name, "name": label(one.name)}
        said = pointer(f"{label(one.name)}: best %{{y:.1f}} after trial %{{x}}")
        figure.add_trace(_line(best, best.values(), style, line_shape="hv", hovertemplate=said, **common))
        scored = [trial for trial in one.tried if trial["value"] is not None]
        figure.add_trace(
            go.Scatter(
                **common,
                x=[trial["number"] + 1 for trial in scored],
                y=plain([max(100 * trial["value"], floor) for trial in scored]),
                mode="markers",
                marker={"color": style.colour, "size": 8, "symbol": [_symbol(trial, floor) for trial in scored]},
                cliponaxis=False,
                customdata=[f"trial {t['number'] + 1}, {ratio_of(t)}: {score_of(t)}, {state_of(t)}" for t in scored],
                hovertemplate=pointer(f"{label(one.name)}: %{{customdata}}"),
            )
        )
    longest = max(number for one in searches for number in (one.planned, *(t["number"] + 1 for t in one.tried)))
    dress(figure, TALL, margin={**MARGIN, "b": 42}, hovermode="closest")
    figure.update_xaxes(range=[0.5, longest + 0.5], title={"text": "trial", "standoff": 4}, nticks=12)
    if longest <= MANY:
        figure.update_xaxes(dtick=1)
    figure.update_yaxes(range=[low, high], nticks=6)
    return figure


def _line(x: Iterable[float], scores: Iterable[float], style: LineStyle, **options: Any) -> Any:
    """Scores in percent."""
    line = {"color": style.colour, "dash": style.dash, "width": style.width}
    y = plain([100 * score for score in scores])
    return plotly_objects().Scatter(x=plain(x), y=y, mode="lines", line=line, **options)


def _range(searches: Sequence[SearchRecord]) -> tuple[float, float]:
    """Room for what is finished or expected; what was stopped at its beginning would press that flat."""
    scores = [score for one in searches for score in one.random]
    scores += [trial["value"] for one in searches for trial in one.tried if finished_trial(trial)]
    scores = scores or [trial["value"] for one in searches for trial in one.tried if trial["value"] is not None]
    room = 0.08 * (max(scores) - min(scores)) or 0.01
    return 100 * (min(scores) - room), 100 * (max(scores) + room)


def _symbol(trial: Mapping[str, Any], floor: float) -> str:
    if trial["state"] != "pruned":
        return "circle"
    return "circle-open" if 100 * trial["value"] >= floor else "triangle-down-open"


def slice_figures(search: SearchRecord, style: LineStyle) -> dict[str, Any]:
    """A figure for each task, all with the same scores on the side, so that they can be compared; none where nothing
    is believed yet."""
    if not search.slices or search.best is None:
        return {}
    means, deviations = (np.concatenate([own[of] for own in search.slices.values()]) for of in ("mean", "deviation"))
    low = min([search.best["value"], *(means - deviations)])
    high = max([search.best["value"], *(means + deviations)])
    room = 0.06 * (high - low) or 0.01
    figures = {}
    for task in search.tasks:
        figures[task] = _slice(search.slices[task], search.best["ratio"][task], search.best["value"], style)
        figures[task].update_yaxes(range=[100 * (low - room), 100 * (high + room)])
    return figures


def _slice(told: Mapping[str, Sequence[float]], number: float, score: float, style: LineStyle) -> Any:
    go = plotly_objects()
    at, share, mean, deviation = (np.array(told[key], dtype=float) for key in ("at", "share", "mean", "deviation"))
    figure = go.Figure()
    figure.add_trace(
        go.Scatter(
            x=plain([*at, *at[::-1]]),
            y=plain(100 * np.concatenate([mean + deviation, (mean - deviation)[::-1]])),
            fill="toself",
            fillcolor=style.shade(0.15),
            mode="lines",
            line={"width": 0},
            hoverinfo="skip",
        )
    )
    said = pointer("%{x:.3g} (%{customdata[0]:.0f} % of all): %{y:.1f} ± %{customdata[1]:.1f}")
    about = list(zip(plain(100 * share), plain(100 * deviation), strict=True))
    figure.add_trace(_line(at, mean, style, customdata=about, hovertemplate=said))
    figure.add_trace(
        go.Scatter(
            x=[number],
            y=plain([100 * score]),
            mode="markers",
            marker={"color": style.colour, "size": 11, "symbol": "diamond"},
            cliponaxis=False,
            hovertemplate=pointer("best ratio: %{x:.3g}, score %{y:.1f}"),
        )
    )
    dress(figure, LOW, margin=MARGIN, hovermode="closest")
    if FEW >= at.max() - at.min() > 1:
        figure.update_xaxes(dtick=1)
    figure.update_yaxes(nticks=5)
    return figure
