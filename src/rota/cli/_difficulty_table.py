"""How difficult the texts of tasks are: the table of `rota tasks --difficulty`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from rota.cli._console import open_console
from rota.cli._tables import number, print_whole
from rota.errors import RotaError

if TYPE_CHECKING:
    from rota.data import RawTask, Reading, TaskDifficulty

TITLE = "EDM: how difficult texts are before training, the hardest first"
LEGEND = """\
EDM is the sum of the five terms: different words / words; how far the classes are from equal sizes; their entropy; how
much the words of the two nearest classes overlap; what their most frequent words say. Its authors found 3.26 ± 0.80."""


def show_difficulty(names: Sequence[str], reading: Reading) -> None:
    """Measure these tasks, or all published ones that are in the data folder, and print them, the hardest first."""
    from rota.data import raw_tasks, task_difficulty  # late: they load torch

    chosen = raw_tasks(names or _in_folder(reading), reading)
    measured: list[TaskDifficulty] = []
    without: list[RawTask] = []
    errors = open_console(stderr=True)
    with Progress(console=errors, transient=True, disable=not errors.is_terminal) as bar:
        line = bar.add_task("", total=len(chosen))
        for task in chosen:
            bar.update(line, description=escape(task.name))
            found = task_difficulty(task)
            if found is None:
                without.append(task)
            else:
                measured.append(found)
            bar.advance(line)
    left_out = ", ".join(f"{task.name} ({task.form.kind!r})" for task in without)
    if not measured:
        raise RotaError(f"Expected tasks whose rows have classes; of others EDM is not defined. Found {left_out}.")
    console = open_console()
    print_whole(console, _table(measured))
    console.print(" ".join(LEGEND.split()), style="dim", highlight=False)
    other = ", ".join(f"{own.task} ({own.split})" for own in measured if own.split != "train")
    if other:
        console.print(f"Without training rows, so measured on others: {other}", highlight=False, markup=False)
    if without:
        console.print(f"Not defined without classes: {left_out}", highlight=False, markup=False)


def _in_folder(reading: Reading) -> list[str]:
    from rota.data import SUITES

    published = {task.name: task for suite in SUITES.values() for task in suite.named}
    found = {name for name, task in published.items() if task.local(reading.folder)}
    if not found:
        where = f"none in {reading.folder}" if reading.folder else "no folder"
        raise RotaError(
            f"--difficulty expects a folder with published data sets, or tasks by name. Found {where}. "
            f"Say --data DIR, or --tasks mine.yaml."
        )
    return [name for name in published if name in found and published[name].same_as not in found]


def _table(measured: Sequence[TaskDifficulty]) -> Table:
    table = Table(title=TITLE, title_justify="left")
    for column in ("task", "rows", "EDM", "words", "imbalance", "entropy", "overlap", "frequent"):
        table.add_column(column, justify="left" if column == "task" else "right")
    for own in sorted(measured, key=lambda own: -own.terms.total):
        numbers = [number(value, 3, scale=1) for value in (own.terms.total, *own.terms)]
        table.add_row(f"[bold]{escape(own.task)}[/]", f"{own.rows:,}", *numbers)
    return table
