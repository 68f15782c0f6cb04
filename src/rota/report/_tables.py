"""The tables of the page: scores and costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np

from rota.report._groups import Group, counted_tasks
from rota.report._numbers import Spread
from rota.report._paired import Difference
from rota.report._palette import Look
from rota.report._results import COLUMNS, Score, Scores, all_costs, all_scores, used_columns
from rota.report._words import interval, percent
from rota.runlog import Ledger

STANDING_OUT = ' class="best"'


@dataclass(frozen=True)
class Cells:
    """A table before it is HTML or Markdown.

    Args:
        header: One cell for each column.
        rows: Cells are HTML; those that start with `<td` or `<th` are taken as they are.
        best: Numbers of the rows that stand out.
        note: A sentence or two that explains it, in HTML.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    best: Sequence[int] = field(default=())
    note: str = ""

    def html(self) -> str:
        return table(self.header, self.rows, self.best)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], best: Sequence[int] = ()) -> str:
    """Cells are HTML already; those that start with `<td` or `<th` are taken as they are."""
    head = "".join(cell if cell.startswith("<th") else f"<th>{cell}</th>" for cell in header)
    body = "".join(
        f"<tr{STANDING_OUT if number in best else ''}>"
        f"{''.join(cell if cell.startswith(('<td', '<th')) else f'<td>{cell}</td>' for cell in row)}</tr>"
        for number, row in enumerate(rows)
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def score_table(groups: Sequence[Group], looks: dict[str, Look], baseline: str | None = None) -> str:
    """One row per method, and what its columns are."""
    cells = score_cells(all_scores(groups, baseline), looks)
    return cells.html() + f'<p class="note">{cells.note}</p>'


def cost_table(groups: Sequence[Group], looks: dict[str, Look]) -> str:
    """One row per method: what a run cost on average."""
    cells = cost_cells(groups, looks)
    return f'<p class="note">{cells.note}</p>' + cells.html() if cells.rows else f"<p>{cells.note}</p>"


def score_cells(found: Scores, looks: dict[str, Look]) -> Cells:
    """The average, how far it is from the baseline, how even the tasks are, and each task."""
    ranking = found.ranking
    base = ranking.baseline if any(row.difference for row in found.rows) else None
    doubtful = any(row.difference and row.difference.n > 1 for row in found.rows)
    several = any(_counted(row) > 1 for row in found.rows)
    alone = any(row.reached and _counted(row) > 1 for row in found.rows)
    header = ["method", f"average<small>{ranking.split}</small>"]
    header += [f"− {escape(base.name)}<small>paired, 95 % interval</small>"] if base else []
    header += ["seeds needed<small>to tell</small>"] if doubtful else []
    header += [
        f"<th{_dim(aux)}>{escape(task)}<small>{found.splits[task]}{', auxiliary' if aux else ''}</small></th>"
        for task, aux in found.tasks.items()
    ]
    header += [f"task σ<small>{ranking.split}</small>"] if several else []
    header += ["tasks ≥ single task"] if alone else []
    header += ["average<small>dev</small>"] if ranking.split == "test" else []
    rows = []
    for row in found.rows:
        average = _spread(row.average)
        cells = [method_cell(row.group, looks), f"<strong>{average}</strong>" if row.best else average]
        cells += [_difference(row.difference) if row.difference else ""] if base else []
        cells += [_needed(row)] if doubtful else []
        cells += [f"<td{_dim(aux)}>{_spread(row.tasks[task])}</td>" for task, aux in found.tasks.items()]
        cells += [percent(row.sigma.mean) if _counted(row) > 1 else "–"] if several else []
        cells += [_reached(row)] if alone else []
        cells += [_spread(row.dev)] if ranking.split == "test" else []
        rows.append([*cells, _runs(row.group)])
    best = [number for number, row in enumerate(found.rows) if row.best]
    return Cells([*header, "runs"], rows, best, _score_note(found, doubtful, several, alone))


def cost_cells(groups: Sequence[Group], looks: dict[str, Look]) -> Cells:
    """Counts, forward equivalents and seconds; no row where no run is finished."""
    costs, used = {cost.group.name: cost for cost in all_costs(groups)}, used_columns(groups)
    if not costs:
        return Cells([], [], note="No run is finished, so there is no account yet.")
    rows = []
    for group in groups:
        cost = costs.get(group.name)
        if cost is None:
            rows.append([method_cell(group, looks), *["–"] * (len(used) + 3)])
            continue
        relative = "–" if np.isnan(cost.relative) else f"{cost.relative:.2f}×"
        counts = [f"{cost.counts[name]:,.0f}" for name in used]
        whole = f"{cost.forward_equivalents:,.0f}"
        rows.append([method_cell(group, looks), *counts, whole, relative, f"{cost.seconds:,.1f}"])
    header = ["method", *(name.replace("_", " ") for name in used), "forward equivalents", "relative", "seconds"]
    return Cells(header, rows, note=_explained(used))


def _explained(used: Sequence[str]) -> str:
    counted = "; ".join(f"<em>{name.replace('_', ' ')}</em>: {COLUMNS[name]}" for name in used)
    return (
        f"Means over the finished runs of a method. {counted}; "
        f"<em>forward equivalents</em>: what training and scoring cost in forward passes of one example, a backward "
        f"pass counting as {Ledger.BACKWARD} (evaluation is left out); <em>relative</em>: to the cheapest method; "
        f"<em>seconds</em>: time on the clock, which depends on the machine and on what ran beside it."
    )


def _score_note(found: Scores, doubtful: bool, several: bool, alone: bool) -> str:
    ranking = found.ranking
    if ranking.best is None and ranking.comparable:
        return "No run is finished with a score."
    notes = ["Scores in percent at the best checkpoint, mean ± standard deviation over seeds."]
    if ranking.split == "dev":
        notes.append(
            "There are no test scores of all tasks that count: these are dev scores, of the checkpoint that was best "
            "on them."
        )
    elif "dev" in found.splits.values():
        notes.append("Auxiliary tasks without test rows show their dev score.")
    if doubtful:
        notes.append(
            "<em>seeds needed</em>: where zero is in the interval, with how many seeds a difference of this size and "
            "spread would be found four times in five; a dash where no sensible number does."
        )
    if several:
        notes.append("<em>task σ</em>: standard deviation across the tasks of the average, in points, mean over seeds.")
    if alone:
        notes.append(
            "<em>tasks ≥ single task</em>: how many are no lower than where they were trained alone, mean over seeds."
        )
    return " ".join(notes)


def method_cell(group: Group, looks: dict[str, Look]) -> str:
    """The first cell of a row: the line of the method, and its name."""
    return f'<th scope="row">{looks[group.name].swatch()} {escape(group.name)}</th>'


def _runs(group: Group) -> str:
    open_ones = len(group.runs) - len(group.finished)
    return f"{len(group.finished)}" + (f" <small>+ {open_ones} unfinished</small>" if open_ones else "")


def _spread(over: Spread) -> str:
    return percent(over.mean) + (f" <small>± {percent(over.std)}</small>" if over.n > 1 else "")


def _difference(difference: Difference) -> str:
    told = percent(difference.mean, signed=True)
    return told + (f" <small>{interval(difference)}</small>" if difference.n > 1 else "")


def _dim(auxiliary: bool) -> str:
    return ' class="dim"' if auxiliary else ""


def _counted(row: Score) -> int:
    return len(counted_tasks(row.group.runs[0]))


def _needed(row: Score) -> str:
    """Nothing where the difference is found already."""
    return str(row.seeds_needed or "–") if row.unclear else ""


def _reached(row: Score) -> str:
    if not row.reached or _counted(row) == 1:
        return "–"
    mean = f"{np.mean(row.reached.counts):.1f}".removesuffix(".0")
    return f"{mean} of {row.reached.tasks}"
