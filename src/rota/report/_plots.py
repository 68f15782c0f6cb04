"""What all figures share: how plotly is loaded, how they look, how they get into the page."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from rota.errors import RotaError
from rota.report._palette import FAINT, GREY

CONFIG = {"displayModeBar": False, "responsive": True}  # drag to zoom, double-click to go back; no bar over the lines
DIGITS = 6  # significant digits that a figure keeps: what one sees, not what one computes with


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
    """Transparent, in mid-grey type: the page behind it may be light or dark."""
    figure.update_layout(
        template="none",
        height=height,
        showlegend=False,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "size": 12, "color": GREY},
        hoverlabel={"font": {"size": 12}, "namelength": -1},
        **layout,
    )
    figure.update_xaxes(gridcolor=FAINT, zeroline=False, linecolor=FAINT, ticks="", nticks=6)
    figure.update_yaxes(gridcolor=FAINT, zeroline=False, linecolor=FAINT, ticks="")


def to_html(figure: Any, name: str) -> str:
    """The figure as a piece of a page that carries plotly.js; `name` keeps the page the same from run to run."""
    return str(figure.to_html(full_html=False, include_plotlyjs=False, config=CONFIG, div_id=name))


def plain(values: Any) -> list[Any]:
    """Numbers for a figure: rounded, with None where there is none."""
    if getattr(values, "ndim", 1) == 2:
        return [plain(row) for row in values]
    return [None if not np.isfinite(value) else float(f"{value:.{DIGITS}g}") for value in values]


def label(name: str) -> str:
    """A name inside a figure, where plotly reads some HTML and fills in what stands in %{braces}."""
    return escape(name).replace("%{", "%&#123;")


def shorter(name: str, most: int = 16) -> str:
    """A label that fits."""
    return label(name if len(name) <= most else name[: most - 1] + "…")
