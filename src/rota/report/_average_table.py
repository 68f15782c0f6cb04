"""Averages over groups of tasks, as papers print them: GLUE, SuperGLUE, MRQA."""

from __future__ import annotations

from rota.analysis import NamedAverage, named_averages
from rota.report._page import ReportPage
from rota.report._pieces import Table, TableCell, Text, small
from rota.report._words import percent

NOTE = (
    "Averages over groups of tasks, in percent. A group with tasks missing says over how many of its entries it is; "
    "that cannot be compared with what is printed. GLUE has the nine entries of Pilault et al. 2021 and is called "
    "glue-002 where all are there: F1 for MRPC and QQP, Spearman for STS-B, the two parts of MNLI. glue-001 is that of "
    "Glover & Hokamp 2019: eight tasks, the mean of each task's metrics. SuperGLUE is the mean of its tasks' scores, "
    "MRQA that of F1."
)


def average_table(page: ReportPage) -> Table | None:
    """A row for each method; None where no run has two tasks of a group."""
    found = {group.name: named_averages(group, page.scores.ranking.split) for group in page.groups}
    names = list(dict.fromkeys(name for own in found.values() for name in own))
    if not names:
        return None
    header: list[TableCell | Text] = ["method", *((name, small(page.scores.ranking.split)) for name in names)]
    rows = [
        [page.named(group), *(_told(own[name]) if name in own else "–" for name in names)]
        for group, own in found.items()
    ]
    return Table(header, rows, note=NOTE)


def _told(own: NamedAverage) -> Text:
    spread = f" ± {percent(own.over.std)}" if own.over.n > 1 else ""
    part = "" if own.entries == own.of else f" {own.entries} of {own.of}"
    return (percent(own.over.mean), small(spread + part)) if spread or part else percent(own.over.mean)
