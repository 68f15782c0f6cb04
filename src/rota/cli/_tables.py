"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from rota.cli._console import WIDEST
from rota.runlog import Run

if TYPE_CHECKING:
    from rota.analysis import Difference, Spread


LISTED, OF_EACH_END = 40, 10
"""Most tasks in a table of the terminal; of more, so many of the best and of the worst."""


def listed(scores: Mapping[str, float | None]) -> tuple[list[str], int]:
    """The tasks that a table lists, and how many it leaves out: all where they are few, in their order; else the worst
    and the best, by their scores.

    >>> names, others = listed({f"source {number}": number / 100 for number in range(60)})
    >>> names[0], names[-1], len(names), others
    ('source 0', 'source 59', 20, 40)
    """
    if len(scores) <= LISTED:
        return list(scores), 0
    ordered = sorted(scores, key=lambda task: (-1.0 if scores[task] is None else scores[task], task))
    return [*ordered[:OF_EACH_END], *ordered[-OF_EACH_END:]], len(scores) - 2 * OF_EACH_END


def note_left_out(table: Table, row: int, others: int) -> None:
    """Where tasks are left out, say so between the worst and the best."""
    if others and row == OF_EACH_END - 1:
        table.add_row(f"… {others:,} more", style="dim")


def score_table(run: Run) -> Table:
    """How one run ended, task by task."""
    best = run.summary["best"]
    table = Table(
        title=f"{run.plan['method']}, seed {run.plan['seed']}: best at step {best['step']}", title_justify="left"
    )
    for column in ("task", "updates", "dev loss", "dev", "test"):
        table.add_column(column, justify="left" if column == "task" else "right")
    test = best["test"]["tasks"]
    names, others = listed({task: dev["score"] for task, dev in best["dev"]["tasks"].items()})
    for row, task in enumerate(names):
        dev = best["dev"]["tasks"][task]
        auxiliary = run.info["tasks"][task]["auxiliary"]
        table.add_row(
            escape(task) + (" (auxiliary)" if auxiliary else ""),
            str(run.summary["updates"].get(task, 0)),
            number(dev["loss"], 3, scale=1),
            number(dev["score"]),
            number(test[task]["score"] if task in test else None),
            style="dim" if auxiliary else "",
        )
        note_left_out(table, row, others)
    table.add_section()
    counted = [task for task, info in run.info["tasks"].items() if not info["auxiliary"]]
    tested = best["test"]["average"] if set(counted) <= set(test) else None  # an average over some says little
    averages = number(best["dev"]["loss"], 3, scale=1), number(best["dev"]["average"]), number(tested)
    table.add_row("average", str(sum(run.summary["updates"].values())), *averages, style="bold")
    return table


def print_whole(console: Console, table: Table) -> None:
    """Print a table with all of its columns, also where the terminal is narrower: a number that is cut is none."""
    wanted = Measurement.get(console, console.options.update(width=WIDEST), table).maximum
    wide = Console(width=max(console.width, wanted), file=console.file, force_terminal=console.is_terminal)
    wide.print(table)


def number(value: float | None, digits: int = 1, scale: float = 100) -> str:
    """A score in percent, or a dash."""
    return "–" if value is None else f"{scale * value:.{digits}f}"


def mean_and_spread(values: Iterable[float | None]) -> str:
    """Scores over seeds, in percent."""
    from rota.analysis import spread  # late: it takes a moment

    return spread_told(spread(values))


def spread_told(found: Spread) -> str:
    """Mean and standard deviation over seeds, in percent."""
    if not found.n:
        return "–"
    return f"{100 * found.mean:.1f}" + (f" ± {100 * found.std:.1f}" if found.n > 1 else "")


def difference_told(found: Difference) -> str:
    """A difference with its interval, in percent."""
    if not found.n:
        return "–"
    between = f" [{100 * found.low:.1f}, {100 * found.high:.1f}]" if found.n > 1 else ""
    return f"{100 * found.mean:+.1f}{between}".replace("-", "−")
