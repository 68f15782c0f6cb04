"""How much is there to win: a picture of what each task gains, and the numbers below it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rota.report._document import document, write_file
from rota.report._pieces import Table
from rota.report._plotly_text import label, pointer, shorter
from rota.report._plots import dress, figure_html, plotly_objects
from rota.report._templates import render
from rota.report._words import percent
from rota.surfaces import Gain, Headroom, HeldOut

GAINS, PAYS, UNCLEAR, ALL = "#0072B2", "#D55E00", "#848B94", "#009E73"
SIDE, AROUND = 34, 120  # pixels of a row, and of what stands around all of them
MEAN = "mean of all tasks"


def write_headroom(found: Headroom, known: HeldOut, plain: Mapping[str, Mapping[str, float]], page: Path) -> None:
    """Write one self-contained HTML page: what the recommended mixture would gain, and which task pays for it.

    Args:
        found: What was found.
        known: How well the laws predict mixtures that they were not fitted to.
        plain: The plain mixtures, by name.
        page: The file to write; one that exists is replaced.

    >>> import tempfile
    >>> import numpy as np
    >>> gain = Gain(0.01, 0.004, 0.016)
    >>> found = Headroom({"a": 0.4, "b": 0.6}, "uniform", {"uniform": gain}, {"a": gain}, {"uniform": 0.7}, {})
    >>> known = HeldOut(np.array([0.5, 0.6]), np.array([0.5, 0.7]), {"a": 1.0}, 0.95)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_headroom(found, known, {"uniform": {"a": 0.5, "b": 0.5}}, Path(folder) / "headroom.html")
    ...     "Worth it" in (Path(folder) / "headroom.html").read_text()
    True
    """
    body = render(
        "headroom.html",
        found=found,
        gain=gain_told(found.gain),
        enough=percent(found.enough),
        rank=f"{known.rank:.2f}",
        covered=f"{known.covered:.0%}",
        mixtures=len(known.measured),
        figure=figure_html(gains_figure(found), "headroom-gains"),
        shares=shares_table(found, plain),
        gains=gains_table(found, known),
    )
    write_file(page, document(f"How much is there to win: {', '.join(found.mixture)}", [("Headroom", body)]))


def gain_told(gain: Gain) -> str:
    """
    >>> gain_told(Gain(0.012, -0.001, 0.025))
    '+1.2 [−0.1, +2.5]'
    """
    return f"{percent(gain.mean, signed=True)} [{percent(gain.low, signed=True)}, {percent(gain.high, signed=True)}]"


def gains_figure(found: Headroom) -> Any:
    """Intervals below each other: the mean over the plain mixtures, then what each task gains or pays."""
    go = plotly_objects()
    rows: list[tuple[str, Gain, bool]] = [(f"{MEAN}, over {name}", gain, True) for name, gain in found.over.items()]
    rows += [(task, gain, False) for task, gain in found.by_task.items()]
    figure = go.Figure()
    for place, (name, gain, mean) in enumerate(rows):
        colour = GAINS if gain.low > 0 else PAYS if gain.high < 0 else UNCLEAR
        figure.add_trace(
            go.Scatter(
                x=[100 * gain.mean],
                y=[place],
                mode="markers",
                marker={"color": ALL if mean else colour, "size": 10, "symbol": "diamond" if mean else "circle"},
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": [100 * (gain.high - gain.mean)],
                    "arrayminus": [100 * (gain.mean - gain.low)],
                },
                hovertemplate=pointer(f"{label(name)}: {gain_told(gain)}"),
                showlegend=False,
            )
        )
    figure.add_vline(x=0, line={"width": 1})
    down = {
        "tickvals": list(range(len(rows))),
        "ticktext": [shorter(name) for name, _, _ in rows],
        "autorange": "reversed",
        "automargin": True,
    }
    across = {"title": "points that the recommended mixture gains", "automargin": True}
    dress(figure, AROUND + SIDE * len(rows), margin=dict.fromkeys("lrtb", 10), xaxis=across, yaxis=down)
    return figure


def shares_table(found: Headroom, plain: Mapping[str, Mapping[str, float]]) -> Table:
    """Shares of the updates under the recommended mixture and under the plain ones."""
    rows = [
        [task, percent(share), *(percent(mixture[task]) for mixture in plain.values())]
        for task, share in found.mixture.items()
    ]
    return Table(["share of the updates, percent", "recommended", *plain], rows, rows_of="tasks")


def gains_table(found: Headroom, known: HeldOut) -> Table:
    """What each task gains or pays, and how well mixtures are ranked for it that were held out."""
    rows = [
        [task, gain_told(gain), f"{known.ranks[task]:.2f}" if task in known.ranks else "–"]
        for task, gain in found.by_task.items()
    ]
    return Table(["task", f"gain over {found.plain} [95 %]", "held-out rank correlation"], rows, rows_of="tasks")
