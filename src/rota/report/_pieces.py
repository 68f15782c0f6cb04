"""What the page is made of before it is HTML or Markdown: plain data that both writers read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rota.report._palette import LineStyle

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True)
class Marked:
    """Text in another type.

    Args:
        mark: Which, by its tag.
        text: What is written in it.
    """

    mark: Literal["strong", "em", "small"]
    text: Text


@dataclass(frozen=True)
class Spark:
    """A curve as small as a word.

    Args:
        points: Where it goes, in a box of 100 × 20, as SVG has it.
        style: How it is drawn.
    """

    points: str
    style: LineStyle


Text = str | Marked | LineStyle | Spark | tuple["Text", ...]
"""A string, text in another type, a short piece of a line, a small curve (both nothing in Markdown), or several of
these in a row."""


def strong(*text: Text) -> Marked:
    """In bold."""
    return Marked("strong", text)


def em(*text: Text) -> Marked:
    """In italics."""
    return Marked("em", text)


def small(*text: Text) -> Marked:
    """In small type; in the head of a table, below the rest."""
    return Marked("small", text)


@dataclass(frozen=True)
class TableCell:
    """A cell that does not look like the others.

    Args:
        text: What stands in it.
        look: "dim": of little weight; "text": words, not a number.
    """

    text: Text
    look: Literal["dim", "text"]


@dataclass(frozen=True)
class Table:
    """Rows below a header; the first cell of each is its heading.

    Args:
        header: One cell for each column.
        rows: Their cells.
        best: Numbers of the rows that stand out.
        note: A sentence or two that explains it.
        rows_of: What the rows are, where they may be many: the reader can then look for some of them.
    """

    header: Sequence[TableCell | Text]
    rows: Sequence[Sequence[TableCell | Text]]
    best: Collection[int] = ()
    note: Text = ""
    rows_of: str = ""


@dataclass(frozen=True)
class Panel:
    """A small figure below its caption."""

    caption: Text
    figure: Markup


@dataclass(frozen=True)
class LegendButton:
    """Shows and hides a line in all figures of its section.

    Args:
        key: What figures call the line: its `legendgroup`.
        name: What the reader calls it.
        style: How it is drawn.
        note: A word after the name.
    """

    key: str
    name: str
    style: LineStyle
    note: str = ""


def legend_buttons(styles: Mapping[str, LineStyle]) -> list[LegendButton]:
    """Of lines that figures call as the reader does."""
    return [LegendButton(name, name, style) for name, style in styles.items()]
