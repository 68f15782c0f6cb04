"""The report as Markdown: what ran, what it shows, and the tables."""

from __future__ import annotations

from rota.analysis import train_command
from rota.report._average_table import average_table
from rota.report._cost_section import cost_table
from rota.report._page import ReportPage
from rota.report._palette import LineStyle
from rota.report._pieces import Marked, Spark, Table, TableCell, Text
from rota.report._score_section import score_table
from rota.report._summary import met_before, what_it_shows, what_ran

AROUND = {"strong": ("**", "**"), "em": ("*", "*"), "small": (" ", "")}
ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
"""Markdown takes tags for HTML, but reads entities."""


def as_markdown(page: ReportPage) -> str:
    """What ran, what it shows, and the tables of scores, costs and commands."""
    told = [f"# {_line(page.title)}", _line(what_ran(page)), _line(what_it_shows(page))]
    told += [f"Met before: {_line(before)}" for before in met_before(page)]
    told += ["## Scores", *_table(score_table(page))]
    averages = average_table(page)
    told += ["### Groups of tasks", *_table(averages)] if averages else []
    told += ["## Cost", *_table(cost_table(page))]
    commands = [found for group in page.groups if (found := train_command(group.runs[0].plan)) is not None]
    told += ["## Commands", "\n".join(["```sh", *commands, "```"])] if commands else []
    return "\n\n".join(told) + "\n"


def _table(table: Table) -> list[str]:
    """A table, and what its columns are."""
    if not table.rows:
        return [_line(table.note)]
    lines = [table.header, ["---", *["---:"] * (len(table.header) - 1)], *table.rows]
    rows = ("| " + " | ".join(_line(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
    return ["\n".join(rows), _line(table.note)]


def _line(text: TableCell | Text) -> str:
    """Text in one line.

    >>> from rota.report._pieces import small, strong
    >>> _line((strong("a < b"), ": 1.0", small("± 0.1")))
    '**a &lt; b**: 1.0 ± 0.1'
    """
    return " ".join(_marked(text.text if isinstance(text, TableCell) else text).split())


def _marked(text: Text) -> str:
    if isinstance(text, str):
        return text.translate(ENTITIES)
    if isinstance(text, LineStyle | Spark):
        return ""
    if isinstance(text, Marked):
        before, after = AROUND[text.mark]
        return before + _marked(text.text) + after
    return "".join(map(_marked, text))
