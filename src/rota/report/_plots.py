"""What all figures share: how plotly is loaded, how they look, how they get into the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rota.report._palette import FAINT, GREY
from rota.report._templates import not_installed, render

if TYPE_CHECKING:
    from markupsafe import Markup

CONFIG = {"displayModeBar": False, "responsive": True}  # drag to zoom, double-click to go back; no bar over the lines
AXIS = {"gridcolor": FAINT, "zeroline": False, "linecolor": FAINT, "ticks": "", "automargin": False}
TEMPLATE = {
    "layout": {
        "showlegend": False,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": GREY},
        "hoverlabel": {"font": {"size": 12}, "namelength": -1},
        "xaxis": {**AXIS, "nticks": 6},
        "yaxis": AXIS,
    }
}
"""How all figures look: transparent, in mid-grey type, for the page behind them may be light or dark. The page has it
once; page.css gives the type the colour that suits its ground."""

COMMON = {"template": TEMPLATE, "config": CONFIG}
"""What page.js needs for all figures."""

DIGITS, FINEST = 4, 7  # significant digits of a number in a figure, at least and at most
STEPS = 2000  # a curve is this many steps high, at least: no screen shows a tenth of one


def plotly_objects() -> Any:
    """plotly's figure classes, imported late: nobody who only imports `rota.report` pays for them."""
    try:
        import plotly.graph_objects
    except ImportError as error:
        raise not_installed("plotly") from error
    return plotly.graph_objects


def dress(figure: Any, height: int, **layout: Any) -> None:
    """What is not the same in all figures."""
    figure.update_layout(height=height, **layout)


def figure_html(figure: Any, name: str) -> Markup:
    """A figure of plotly's as a place in the page and its content; the page draws it and carries plotly.js once.

    Args:
        figure: With a height in its layout, in pixels.
        name: Which no other figure of the page has, and which is the same each time.

    >>> import plotly.graph_objects as go
    >>> figure = go.Figure(go.Scatter(x=[0, 10], y=[0.5, 0.7]), {"height": 200})
    >>> "div" in figure_html(figure, "rewards"), "rewards" in figure_html(figure, "rewards")
    (True, True)
    """
    content = figure.to_plotly_json()
    content["layout"].pop("template", None)  # plotly's own, which would be repeated in each figure
    traces = " ".join(sorted({trace["type"] for trace in content["data"]}))
    return render("figure.html", name=name, height=content["layout"]["height"], traces=traces, content=content)


def plain(values: Any) -> list[Any]:
    """Numbers for a figure, with None where there is none; rounded to what one sees of them, in a figure or under the
    pointer: steps of a two-thousandth of their range, and four digits.

    >>> plain([0.123456, 1.0, float("nan")]), plain([87.1234, 87.1284])
    ([0.1235, 1, None], [87.1234, 87.1284])
    """
    if getattr(values, "ndim", 1) == 2:
        return [plain(row) for row in values]
    found = np.array(list(values), dtype=np.float64)
    known = found[np.isfinite(found)]
    reach, largest = np.ptp(known) if len(known) else 0.0, np.abs(known).max(initial=0.0)
    digits = DIGITS if not reach else int(np.clip(np.ceil(np.log10(STEPS * largest / reach)), DIGITS, FINEST))
    return [_short(float(f"{value:.{digits}g}")) if np.isfinite(value) else None for value in found]


def _short(value: float) -> float:
    """Whole numbers without their point."""
    return int(value) if value.is_integer() else value
