"""The tables of the page: scores and costs."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from rota.report._groups import Group, tasks_of
from rota.report._history import AVERAGE
from rota.report._numbers import Spread
from rota.report._paired import Difference
from rota.report._palette import Look
from rota.report._scores import BASELINE, Ranking, rank, scores, split_of
from rota.report._words import interval, mean_cost, percent
from rota.runlog import Ledger

COLUMNS = {
    "updates": "optimizer steps",
    "train": "examples trained on, forward and backward",
    "scored": "examples forwarded to make a signal or to pick candidates",
    "evaluated": "dev and test examples forwarded to look at the model",
    "dev_trained": "dev examples with a backward pass",
    "runs": "whole trainings, inner ones included",
}
ALWAYS = ("updates", "train", "scored", "evaluated")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells are HTML already; those that start with `<td` or `<th` are taken as they are."""
    head = "".join(cell if cell.startswith("<th") else f"<th>{cell}</th>" for cell in header)
    body = "".join(
        f"<tr>{''.join(cell if cell.startswith(('<td', '<th')) else f'<td>{cell}</td>' for cell in row)}</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def score_table(groups: Sequence[Group], looks: dict[str, Look]) -> str:
    """One row per method: the average, its tasks, and how far it is from `uniform`."""
    ranking, tasks = rank(groups), tasks_of(run for group in groups for run in group.runs)
    splits = {task: split_of(groups, task) for task in tasks}
    baseline = next((group for group in groups if group.name == BASELINE), None) if ranking.comparable else None
    top = scores(ranking.best, ranking.split).mean if ranking.best else np.nan
    header = ["method", f"average<small>{ranking.split}</small>"]
    header += [f"− {BASELINE}<small>paired, 95 % interval</small>"] if baseline else []
    header += [
        f"<th{_dim(auxiliary)}>{escape(task)}<small>{splits[task]}{', auxiliary' if auxiliary else ''}</small></th>"
        for task, auxiliary in tasks.items()
    ]
    header += ["average<small>dev</small>"] if ranking.split == "test" else []
    rows = []
    for group in groups:
        average = scores(group, ranking.split)
        best = average.mean == top
        row = [method_cell(group, looks), f"<strong>{_spread(average)}</strong>" if best else _spread(average)]
        if baseline:
            row.append("" if group is baseline else _difference(ranking.difference(group, baseline)))
        row += [f"<td{_dim(aux)}>{_spread(scores(group, splits[task], task))}</td>" for task, aux in tasks.items()]
        row += [_spread(scores(group, "dev", AVERAGE))] if ranking.split == "test" else []
        rows.append([*row, _runs(group)])
    return table([*header, "runs"], rows) + _score_notes(ranking, splits)


def cost_table(groups: Sequence[Group], looks: dict[str, Look]) -> str:
    """One row per method: what a run cost on average."""
    ledgers = {
        group.name: [Ledger.from_dict(run.summary["cost"]) for run in group.finished]
        for group in groups
        if group.finished
    }
    if not ledgers:
        return "<p>No run is finished, so there is no account yet.</p>"
    every = [ledger for own in ledgers.values() for ledger in own]
    usual = Ledger()
    used = [
        name
        for name in COLUMNS
        if name in ALWAYS or any(getattr(ledger, name) != getattr(usual, name) for ledger in every)
    ]
    cheapest = min(mean_cost(group.finished) for group in groups if group.finished)
    rows = []
    for group in groups:
        if not group.finished:
            rows.append([method_cell(group, looks), *["–"] * (len(used) + 3)])
            continue
        cost = mean_cost(group.finished)
        counts = [f"{np.mean([getattr(ledger, name) for ledger in ledgers[group.name]]):,.0f}" for name in used]
        seconds = np.mean([run.summary["seconds"] for run in group.finished])
        relative = f"{cost / cheapest:.2f}×" if cheapest > 0 else "–"
        rows.append([method_cell(group, looks), *counts, f"{cost:,.0f}", relative, f"{seconds:,.1f}"])
    header = ["method", *(name.replace("_", " ") for name in used), "forward equivalents", "relative", "seconds"]
    return f'<p class="note">{_explained(used)}</p>' + table(header, rows)


def _explained(used: Sequence[str]) -> str:
    counted = "; ".join(f"<em>{name.replace('_', ' ')}</em>: {COLUMNS[name]}" for name in used)
    return (
        f"Means over the finished runs of a method. {counted}; "
        f"<em>forward equivalents</em>: what training and scoring cost in forward passes of one example, a backward "
        f"pass counting as {Ledger.BACKWARD} (evaluation is left out); <em>relative</em>: to the cheapest method; "
        f"<em>seconds</em>: time on the clock, which depends on the machine and on what ran beside it."
    )


def _score_notes(ranking: Ranking, splits: dict[str, str]) -> str:
    if ranking.best is None and ranking.comparable:
        return '<p class="note">No run is finished with a score.</p>'
    notes = ["Scores in percent at the best checkpoint, mean ± standard deviation over seeds."]
    if ranking.split == "dev":
        notes.append("There are no test scores: these are dev scores, of the checkpoint that was best on them.")
    elif "dev" in splits.values():
        notes.append("Tasks without test rows show their dev score and are not in the test average.")
    return f'<p class="note">{" ".join(notes)}</p>'


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
