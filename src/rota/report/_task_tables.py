"""Tables with a number for each method and task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from rota.report._many_tasks import DRAWN
from rota.report._page import ReportPage
from rota.report._pieces import Table, Text

Value = TypeVar("Value")


def by_task(page: ReportPage, found: Mapping[str, Mapping[str, Value]], cell: Callable[[Value], Text]) -> Table:
    """A row for each method; where tasks are many, a row for each task: rows can be searched, columns cannot.

    Args:
        page: The page.
        found: By method, then by task.
        cell: What stands in a cell.
    """
    tasks = list(dict.fromkeys(task for own in found.values() for task in own))
    cells = {name: {task: cell(value) for task, value in own.items()} for name, own in found.items()}
    if len(tasks) <= DRAWN:
        rows: list[list[Text]] = [
            [page.named(name), *(own.get(task, "–") for task in tasks)] for name, own in cells.items()
        ]
        return Table(["method", *tasks], rows)
    rows = [[task, *(own.get(task, "–") for own in cells.values())] for task in tasks]
    return Table(["task", *map(page.named, cells)], rows, rows_of="tasks")
