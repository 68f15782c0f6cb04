"""How alike tasks look to the first layer, before and after conditional alignment (Pilault et al. 2021, figure 6)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rota.analysis import GroupSimilarity, Spread
from rota.report._document import document, write_file
from rota.report._dots import Dot, DotPlot
from rota.report._palette import AGGREGATE, LineStyle, method_styles
from rota.report._pieces import Table, TableCell, Text, small
from rota.report._templates import render

MOMENTS = ("before alignment", "after alignment")


def write_similarity(groups: Sequence[GroupSimilarity], page: Path) -> None:
    """Write one self-contained HTML page with dots and a table for each group.

    Args:
        groups: At least one.
        page: The file to write; one that exists is replaced.

    >>> import tempfile
    >>> group = GroupSimilarity("camtl", {"rte": 277, "mrpc": 408}, [{"rte": 0.5, "mrpc": 0.5}], [])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_similarity([group], Path(folder) / "similarity.html")
    ...     "rte" in (Path(folder) / "similarity.html").read_text()
    True
    """
    sections = [
        (group.name, render("similarity.html", plot=_plot(group), table_=_table(group), aligned=bool(group.after)))
        for group in groups
    ]
    write_file(page, document("Covariance similarity of tasks", sections))


def _plot(group: GroupSimilarity) -> DotPlot:
    after = method_styles([group.name])[group.name]
    dots = []
    for task in group.rows:
        found = group.of(task)
        dots.append(_dot((task, " ", small("before")) if group.after else task, AGGREGATE, found.before))
        dots += [_dot((task, " ", small("after")), after, found.after)] if group.after else []
    over = ", with the 95 % interval of the mean over seeds" if len(group.before) > 1 else ""
    return DotPlot(("similarity with the other tasks ", small(f"mean over these{over}")), dots)


def _dot(name: Text, style: LineStyle, over: Spread) -> Dot:
    low, high = over.interval
    return Dot(name, style, over.mean, low, high, f"{over.mean:.3f}")


def _table(group: GroupSimilarity) -> Table:
    header: list[TableCell | Text] = ["task", "rows", *(MOMENTS if group.after else ["embeddings"])]
    header += ["change"] if group.after else []
    rows: list[list[TableCell | Text]] = []
    for name, found in [*((task, group.of(task)) for task in group.rows), ("mean", group.mean)]:
        cells: list[TableCell | Text] = [name, f"{group.rows[name]:,}" if name in group.rows else ""]
        cells.append(_told(found.before))
        cells += [_told(found.after), _told(found.change, "+")] if group.after else []
        rows.append(cells)
    return Table(header, rows)


def _told(over: Spread, sign: str = "") -> Text:
    value = f"{round(over.mean, 3) + 0:{sign}.3f}".replace("-", "−")  # + 0: no minus before zero
    return (value, " ", small(f"± {over.std:.3f}")) if over.n > 1 else value
