"""Colours that everybody can tell apart, on light and on dark ground."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

METHODS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A8A8A", "#C9B800")
"""Okabe and Ito; grey for their black, which dark ground swallows, and a darker yellow, which white does."""

TASKS = ("#CC6677", "#44AA99", "#C2A83E", "#6FB7DD", "#AA4499", "#999933", "#4C9A5B", "#B0627F")
"""After Tol's muted scheme: tasks look different from methods."""

GREY = "#848B94"  # text in figures, readable on both grounds
FAINT = "rgba(132,139,148,0.22)"  # grid lines
DASHES = {"solid": "", "dash": "6 3", "dot": "2 2.5", "dashdot": "6 2.5 2 2.5"}
KINDS = tuple(DASHES)
PATTERN = (0, 0, 0, 0, 1, 1, 1, 2)  # kinds of dashes of the colours of methods
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "triangle-down", "hexagon")


@dataclass(frozen=True)
class LineStyle:
    """How a method or a task is drawn, everywhere on the page.

    Args:
        colour: As `#rrggbb`.
        dash: One of plotly's kinds of lines.
        symbol: One of plotly's markers.
        width: Of the line, in pixels.
    """

    colour: str
    dash: str = "solid"
    symbol: str = "circle"
    width: float = 2.0

    @property
    def dashes(self) -> str:
        """Lengths of dashes and gaps, in pixels."""
        return DASHES[self.dash]

    def shade(self, opacity: float) -> str:
        """The colour, see-through."""
        red, green, blue = (int(self.colour[k : k + 2], 16) for k in (1, 3, 5))
        return f"rgba({red},{green},{blue},{opacity})"


AGGREGATE = LineStyle(GREY, width=3.0, symbol="x")
PLAIN = {"uniform": LineStyle(GREY, "dot", width=1.2), "size^0.5": LineStyle(GREY, "dashdot", width=1.2)}
PLAIN["size"] = LineStyle(GREY, "dash", width=1.2)
"""Mixtures that need no learning: grey, behind what methods did."""


def method_styles(names: Iterable[str]) -> dict[str, LineStyle]:
    """One style per method: colours that some eyes cannot tell apart have other dashes, and so has a second round."""
    return {
        name: LineStyle(METHODS[k % len(METHODS)], KINDS[(PATTERN[k % len(METHODS)] + k // len(METHODS)) % len(KINDS)])
        for k, name in enumerate(names)
    }


def task_styles(tasks: dict[str, bool]) -> dict[str, LineStyle]:
    """One style per task; auxiliary ones are dotted."""
    return {
        task: LineStyle(TASKS[k % len(TASKS)], "dot" if auxiliary else "solid", SYMBOLS[k % len(SYMBOLS)], 1.5)
        for k, (task, auxiliary) in enumerate(tasks.items())
    }
