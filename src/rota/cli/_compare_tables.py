"""What a comparison prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from rota.cli._tables import difference_told, number, spread_told
from rota.comparisons import Comparison

if TYPE_CHECKING:
    from rota.analysis import Cost, ExposureOfGroup, GroupScore, ScoreTable


def score_summary(comparison: Comparison, scores: ScoreTable, costs: Mapping[str, Cost]) -> Table:
    """One row for each variant: how good, how much better than the baseline, how sure, at which price."""
    title = escape(comparison.about) or "Average score"
    alone = any(row.reached for row in scores.rows)
    several = sum(not auxiliary for auxiliary in scores.tasks.values()) > 1  # else there is nothing to spread
    table = Table(
        title=f"{title} ({scores.ranking.split}, percent)", title_justify="left", box=SIMPLE_HEAD, pad_edge=False
    )
    table.add_column("variant", no_wrap=True)
    columns = ["average", f"− {comparison.baseline} [95 %]", "seeds\nneeded"]
    columns += ["task\nσ"] if several else []
    columns += ["tasks ≥\nsingle"] if alone else []
    for column in (*columns, "cost", "s per\nrun"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in scores.rows:
        cost = costs[row.group.name]
        table.add_row(
            escape(row.group.name),
            spread_told(row.average),
            difference_told(row.difference) if row.difference else "",
            str(row.seeds_needed or "–") if row.unclear else "",
            *([number(row.sigma.mean)] if several else []),
            *([_reached(row)] if alone else []),
            f"{cost.relative:.2f}×",
            f"{cost.seconds:.0f}",
            style="bold" if row.best else "",
        )
    return table


def _reached(row: GroupScore) -> str:
    if not row.reached:
        return ""
    return f"{sum(row.reached.counts) / len(row.reached.counts):.1f} of {row.reached.tasks}"


def scores_by_task(scores: ScoreTable) -> Table:
    table = Table(title="By task, percent", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("variant", no_wrap=True)
    for task in scores.tasks:
        table.add_column(f"{escape(task)}\n({scores.splits[task]})", justify="right", no_wrap=True)
    for row in scores.rows:
        table.add_row(escape(row.group.name), *(spread_told(row.tasks[task]) for task in scores.tasks))
    return table


def exposure_table(exposures: Sequence[ExposureOfGroup]) -> Table:
    """What each variant was trained on, and by which budget; without what it took back."""
    title = "Trained on, in passes over the rows of each task"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("variant", no_wrap=True)
    tasks = list(dict.fromkeys(task for own in exposures for task in own.rows))
    for column in ("budget", *map(escape, tasks), "rows"):
        table.add_column(column, justify="right", no_wrap=True)
    for own in exposures:
        passes = (f"{own.passes[task]:.2f}" if own.rows.get(task) else "–" for task in tasks)
        table.add_row(escape(own.group.name), own.budget, *passes, f"{sum(own.rows.values()):,.0f}")
    return table
