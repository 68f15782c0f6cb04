"""Figure 3 of Guo et al. 2019: final utilities, the task of each round, utilities over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rota.analysis import beta_density, mean_curve
from rota.report._palette import GREY, LineStyle
from rota.report._panels import curves_figure
from rota.report._pieces import Panel, small
from rota.report._plotly_text import bold, label, pointer, shorter
from rota.report._plots import dress, figure_html, plain, plotly_objects
from rota.search import Beliefs

MARKS = 500  # rounds that are drawn, at most: many must not make a large page
DENSITY, ROW, MARGINS = 150, 18, {"r": 14, "t": 6, "b": 30}  # heights and margins in pixels
LETTERS = 12  # of a task's name beside its row
TICK = 0.4  # of the distance between two rows


def bandit_panels(beliefs: Beliefs, styles: Mapping[str, LineStyle], name: str) -> list[Panel]:
    """Three panels in one row.

    Args:
        beliefs: Of one run.
        styles: How its tasks are drawn, in the order of their rows.
        name: Of the figures.
    """
    stride = -(-len(beliefs.arms) // MARKS)
    thinned = "" if stride == 1 else f", one round in {stride}"
    drawn = [
        (("utility at the end ", small("density, and 80 % interval")), _densities(beliefs, styles)),
        (("task of each round ", small(f"above: good, below: bad{thinned}")), _turns(beliefs, styles, stride)),
        (("utility ", small("after each round")), _courses(beliefs, styles, stride)),
    ]
    return [Panel(caption, figure_html(figure, f"{name}-{number}")) for number, (caption, figure) in enumerate(drawn)]


def _densities(beliefs: Beliefs, styles: Mapping[str, LineStyle]) -> Any:
    """Densities, and under them an interval for each task."""
    go = plotly_objects()
    figure = go.Figure(layout={"yaxis": {}, "yaxis2": {}})
    for row, (task, style) in enumerate(styles.items()):
        at, dense = beta_density(beliefs.successes[task], beliefs.failures[task])
        low, high = beliefs.interval(task)
        said = pointer(f"{label(task)}: {beliefs.last[task]:.2f}, from {low:.2f} to {high:.2f}")
        common = {"legendgroup": task, "name": label(task)}
        line = {"color": style.colour, "width": style.width}
        about = {**common, "x": plain(at), "y": plain(dense), "mode": "lines"}
        figure.add_trace(go.Scatter(**about, line=line, hovertemplate="%{y:.2f} at %{x:.2f}"))
        below = {**common, "yaxis": "y2", "hovertemplate": said}
        figure.add_trace(go.Scatter(**below, x=plain([low, high]), y=[row, row], mode="lines", line=line))
        mark = {"color": style.colour, "size": 9, "symbol": style.symbol}
        figure.add_trace(go.Scatter(**below, x=plain([beliefs.last[task]]), y=[row], mode="markers", marker=mark))
    dress(figure, _height(styles), margin=_margin(styles), hovermode="closest")
    share = ROW * len(styles) / (_height(styles) - MARGINS["t"] - MARGINS["b"])
    figure.update_xaxes(range=[0, 1], anchor="y2")
    figure.update_layout(yaxis={"domain": [share + 0.02, 1], "rangemode": "tozero", "nticks": 4})
    figure.update_layout(yaxis2={**_rows(styles, beliefs.primary), "domain": [0, share - 0.02]})
    return figure


def _turns(beliefs: Beliefs, styles: Mapping[str, LineStyle], stride: int) -> Any:
    """A line for each task, with a tick up or down for each of its rounds."""
    go = plotly_objects()
    figure = go.Figure()
    rounds = list(enumerate(zip(beliefs.arms, beliefs.values, strict=True)))[::stride]
    for row, (task, style) in enumerate(styles.items()):
        for good in (True, False):
            own = [at for at, (arm, value) in rounds if arm == task and (value >= 0.5) == good]
            end = row - TICK if good else row + TICK
            trace = go.Scatter(
                x=[x for at in own for x in (at, at, None)],
                y=[y for _ in own for y in (row, end, None)],
                mode="lines",
                line={"color": style.colour if good else GREY, "width": 2},
                legendgroup=task,
                name=label(task),
                hovertemplate=pointer(f"{label(task)}: round %{{x}}, {'good' if good else 'bad'}"),
            )
            figure.add_trace(trace)
    dress(figure, _height(styles), margin=_margin(styles), hovermode="closest")
    figure.update_xaxes(range=[-0.5, len(beliefs.arms) - 0.5], showgrid=False)
    figure.update_yaxes(**_rows(styles, beliefs.primary))
    return figure


def _courses(beliefs: Beliefs, styles: Mapping[str, LineStyle], stride: int) -> Any:
    history = dict(zip(beliefs.tasks, beliefs.history.T, strict=True))
    curves = {task: mean_curve([dict(list(enumerate(history[task].tolist()))[::stride])]) for task in styles}
    figure = curves_figure(curves, styles)
    figure.update_traces(hovertemplate="%{y:.2f}")
    figure.update_layout(height=_height(styles))
    figure.update_xaxes(range=[-0.5, len(beliefs.arms) - 0.5])
    figure.update_yaxes(range=[0, 1])
    figure.add_hline(y=0.5, line={"color": GREY, "width": 1, "dash": "dot"})
    return figure


def _height(tasks: Mapping[str, LineStyle]) -> int:
    return MARGINS["t"] + DENSITY + ROW * len(tasks) + MARGINS["b"]


def _margin(tasks: Iterable[str]) -> dict[str, int]:
    return {**MARGINS, "l": 14 + 7 * min(max(map(len, tasks)), LETTERS)}


def _rows(tasks: Iterable[str], target: str) -> dict[str, Any]:
    """An axis with a row for each task, the target in bold."""
    names = [bold(shorter(task, LETTERS)) if task == target else shorter(task, LETTERS) for task in tasks]
    ticks = {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": names}
    return {**ticks, "range": [len(names) - 0.5, -0.5]}
