"""plotly.js, which the page carries along: a third of it where that is enough."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from rota.report._plots import plotly_objects

if TYPE_CHECKING:
    from markupsafe import Markup

BUNDLE = "plotly-cartesian.min.js"
"""plotly.js 4.1.1 without maps and the third dimension, as npm has it (plotly.js-cartesian-dist-min), under the MIT
licence beside it."""
CARTESIAN = {
    *("scatter", "bar", "box", "violin", "histogram", "histogram2d", "histogram2dcontour", "heatmap", "contour"),
    *("image", "pie", "scatterternary"),
}
"""Kinds of traces that the bundle draws. It draws any other as a scatter, and does not say so."""
TRACES = re.compile(r'data-traces="([^"]*)"')  # what figure.html says about its figure
VERSION = re.compile(r"plotly\.js \(.*?\) v(\d+)\.")


def plotly_script(body: str) -> Markup:
    """The script for a page with this in it.

    The bundle, unless a figure needs more than it draws, or the installed plotly (whose figures are drawn) belongs to
    another major version of plotly.js: then the whole script of that plotly, which is three times as large.
    """
    plotly_objects()
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs, get_plotlyjs_version

    needed = {kind for found in TRACES.findall(body) for kind in found.split()}
    found = VERSION.search(bundle()[:500])
    same = found is not None and get_plotlyjs_version().partition(".")[0] == found[1]
    return Markup(bundle() if same and needed <= CARTESIAN else get_plotlyjs())


@cache
def bundle() -> str:
    """The text of the bundle."""
    return (files("rota.report") / "plotly_js" / BUNDLE).read_text(encoding="utf-8")
