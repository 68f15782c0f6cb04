"""What all figures share: how plotly is loaded, how they look, how they get into the page."""

from __future__ import annotations

import json
from html import escape
from typing import Any

import numpy as np

from rota.errors import RotaError
from rota.report._palette import FAINT, GREY

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

DIGITS, FINEST = 4, 7  # significant digits of a number in a figure, at least and at most
STEPS = 2000  # a curve is this many steps high, at least: no screen shows a tenth of one


def plotly_objects() -> Any:
    """plotly's figure classes, imported late: nobody who only imports `rota.report` pays for them."""
    try:
        import plotly.graph_objects
    except ImportError as error:
        raise RotaError("The report expects plotly. Found none. Install it with `pip install plotly`.") from error
    return plotly.graph_objects


def plotly_script() -> str:
    """plotly.js as text, for the page to carry along."""
    plotly_objects()
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def dress(figure: Any, height: int, **layout: Any) -> None:
    """What is not the same in all figures."""
    figure.update_layout(height=height, **layout)


def to_html(figure: Any, name: str) -> str:
    """The figure as a place in the page and its content; page.js draws it. `name` keeps the page the same each time."""
    content = figure.to_plotly_json()
    content["layout"].pop("template", None)  # plotly's own, which would be repeated in each figure
    told = json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    height = content["layout"]["height"]
    return (
        f'<div class="plotly-graph-div" id="{name}" style="height:{height}px"></div>'
        f'<script type="application/json">{told}</script>'
    )


def common() -> str:
    """What page.js needs for all figures."""
    return json.dumps({"template": TEMPLATE, "config": CONFIG}, separators=(",", ":"))


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


def label(name: str) -> str:
    """A name inside a figure, where plotly reads some HTML and fills in what stands in %{braces}."""
    return escape(name).replace("%{", "%&#123;")


def shorter(name: str, most: int = 16) -> str:
    """A label that fits."""
    return label(name if len(name) <= most else name[: most - 1] + "…")
