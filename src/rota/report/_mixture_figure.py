"""Figure 2 of paper 000: losses over updates, and below them what the mixture did; one column per method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rota.analysis import (
    AVERAGE,
    Key,
    MeanCurve,
    RunHistory,
    Tiles,
    mean_curve,
    mixture_tiles,
    realised_tiles,
    uncertainty_tiles,
)
from rota.report._palette import AGGREGATE, GREY, LineStyle
from rota.report._panels import thinned
from rota.report._plotly_text import LINE_BREAK, bold, fine_print, label, pointer, shorter
from rota.report._plots import dress, plain, plotly_objects

TOP, TILE, GAP, HEAD, FOOT = 240, 20, 20, 58, 46  # heights in pixels
RIGHT, NARROW, WIDE = 64, 130, 460  # widths in pixels; of a column: at least, at most
FEW, LETTERS = 5, 16  # columns beyond which a name above them has at most so many letters
FINE = 50  # columns of tiles beyond which gaps between them hide the tiles


@dataclass(frozen=True)
class TileRow:
    """One row of tiles.

    Args:
        title: Beside the row.
        make: Tiles from the runs of a method and the names of the tasks.
        scale: Rows of one scale share their colours, so that they can be compared; a row in another unit (an
            uncertainty) names "coloraxis2".
    """

    title: str
    make: Callable[[Sequence[RunHistory], Sequence[str]], Tiles]
    scale: str = "coloraxis"


ROWS = (TileRow("mixture", mixture_tiles), TileRow("realised", realised_tiles))
SURVEYS = TileRow("unsure", uncertainty_tiles, "coloraxis2")


def mixture_figure(
    histories: Mapping[str, Sequence[RunHistory]], methods: Mapping[str, LineStyle], tasks: Mapping[str, LineStyle]
) -> tuple[Any, int, int]:
    """The figure, and how wide it has to be and may be for all its columns, in pixels.

    Args:
        histories: Of the runs of each method.
        methods: How each method is drawn.
        tasks: How each task is drawn.
    """
    go = plotly_objects()
    from plotly.subplots import make_subplots

    surveyed = any(history.uncertainty for own in histories.values() for history in own)
    rows = (*ROWS, SURVEYS) if surveyed else ROWS
    tall, columns = TILE * len(tasks), len(histories)
    inner = TOP + len(rows) * (tall + GAP)
    figure = make_subplots(
        rows=1 + len(rows),
        cols=columns,
        shared_xaxes="columns",
        shared_yaxes="rows",
        row_heights=[TOP, *[tall] * len(rows)],
        vertical_spacing=GAP / inner,
        horizontal_spacing=min(0.015, 0.5 / columns),
    )
    largest: dict[str, float] = {}
    averages, edges, losses = {}, [0.0], [0.0]
    for column, (name, own) in enumerate(histories.items(), start=1):
        curves = {key: mean_curve([history.loss.get(key, {}) for history in own]) for key in [*tasks, AVERAGE]}
        averages[name] = curves[AVERAGE]
        losses += [value for curve in curves.values() for value in curve.mean]
        for trace in _losses(go, curves, tasks):
            figure.add_trace(trace, row=1, col=column)
        for row, kind in enumerate(rows, start=2):
            tiles = kind.make(own, list(tasks))
            figure.add_trace(_heat(go, kind, tiles, tasks), row=row, col=column)
            edges += [*tiles.edges[:1], *tiles.edges[-1:]]
            largest[kind.scale] = max([largest.get(kind.scale, 0), *tiles.values[np.isfinite(tiles.values)]])
    left = 58 + 7 * min(max(map(len, tasks), default=0), 16)  # room for the names of the tasks
    dress(figure, HEAD + inner + FOOT, margin={"l": left, "r": RIGHT, "t": HEAD, "b": FOOT}, hovermode="closest")
    ticks = 4 if columns <= FEW else 3  # numbers of neighbours must not touch
    figure.update_xaxes(showgrid=False, nticks=ticks, range=[min(edges), max(edges)])
    room = 0.06 * (max(losses) - min(losses) or 1)  # plotly's own guess leaves half of the panel empty
    figure.update_yaxes(range=[min(losses) - room, max(losses) + room], row=1)
    _finish_axes(figure, rows, [shorter(task) for task in tasks])
    for column, (name, average) in enumerate(averages.items(), start=1):
        _add_heading(figure, shorter(name, LETTERS if columns > FEW else 24), average, methods[name], column)
    for scale, top in largest.items():
        places = [k for k, kind in enumerate(reversed(rows)) if kind.scale == scale]
        bottom, height = places[0] * (tall + GAP) / inner, len(places) * (tall + GAP)
        figure.update_layout({scale: _colours(top, bottom, height)})
    return figure, left + RIGHT + NARROW * columns, left + RIGHT + WIDE * columns


def _losses(go: Any, curves: Mapping[Key, MeanCurve], tasks: Mapping[str, LineStyle]) -> list[Any]:
    """A line per task and a thick one for the average, each with a marker at its minimum."""
    traces = []
    for key, curve in curves.items():
        lowest = curve.minimum
        if lowest is None:
            continue
        style, group, name = (AGGREGATE, "average", "average") if key is AVERAGE else (tasks[key], f"task {key}", key)
        hover = pointer(f"{label(name)}: %{{y:.4g}} at update %{{x}}")
        line = {"color": style.colour, "dash": style.dash, "width": style.width}
        drawn = thinned(curve)
        traces.append(
            go.Scatter(
                x=drawn.steps.tolist(),
                y=plain(drawn.mean),
                mode="lines",
                line=line,
                legendgroup=group,
                hovertemplate=hover,
            )
        )
        traces.append(
            go.Scatter(
                x=[lowest[0]],
                y=plain([lowest[1]]),
                mode="markers",
                marker={"color": style.colour, "size": 8, "symbol": style.symbol},
                legendgroup=group,
                hovertemplate=f"lowest {hover}",
            )
        )
    return traces or [go.Scatter(x=[None], y=[None])]  # a column without losses still has its place


def _heat(go: Any, kind: TileRow, tiles: Tiles, tasks: Mapping[str, LineStyle]) -> Any:
    return go.Heatmap(
        x=plain(tiles.edges),
        y=list(range(len(tasks))),
        z=plain(tiles.values),
        meta={"rows": [label(task) for task in tasks], "columns": tiles.labels},
        coloraxis=kind.scale,
        xgap=0.5 if tiles.values.shape[1] <= FINE else 0,
        ygap=1,
        hoverongaps=False,
        hovertemplate=pointer(f"%{{customdata}}{LINE_BREAK}{kind.title} %{{z:.1%}}"),
    )


def _add_heading(figure: Any, name: str, average: MeanCurve, style: LineStyle, column: int) -> None:
    """The method above its column, with the average's minimum in words and as a line."""
    lowest = average.minimum
    if lowest:
        figure.add_vline(x=lowest[0], line={"color": GREY, "width": 1, "dash": "dot"}, row=1, col=column)
    said = f"lowest average {lowest[1]:.3f}{LINE_BREAK}at update {lowest[0]}" if lowest else "no average"
    figure.add_annotation(
        text=bold(name, style.colour) + LINE_BREAK + fine_print(said),
        x=0.5,
        y=1,
        xref=f"x{column if column > 1 else ''} domain",
        yref="paper",
        yanchor="bottom",
        showarrow=False,
    )


def _finish_axes(figure: Any, rows: Sequence[TileRow], tasks: list[str]) -> None:
    """Names of tasks beside the first column only, updates below the last row only."""
    figure.update_xaxes(title={"text": "updates", "standoff": 6}, row=1 + len(rows))
    figure.update_yaxes(title={"text": "dev loss", "standoff": 8}, row=1, col=1)
    for row, kind in enumerate(rows, start=2):
        figure.update_yaxes(
            autorange="reversed", showgrid=False, tickmode="array", tickvals=list(range(len(tasks))), row=row
        )
        figure.update_yaxes(ticktext=tasks, title={"text": kind.title, "standoff": 8}, row=row, col=1)


def _colours(largest: float, bottom: float, height: int) -> dict[str, Any]:
    """From zero to the largest tile of the page, beside the rows of this scale."""
    bar = {"thickness": 10, "len": height - GAP, "lenmode": "pixels", "y": bottom, "yanchor": "bottom", "x": 1.01}
    return {
        "colorscale": "Cividis",
        "cmin": 0,
        "cmax": float(largest) or 1.0,
        "colorbar": {**bar, "tickformat": ".0%", "outlinewidth": 0},
    }
