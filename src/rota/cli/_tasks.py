"""`rota tasks`: what there is to learn."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table


def tasks() -> None:
    """List the tasks with their kinds and sizes."""
    from rota.data import SUITES  # late: it loads torch

    console = Console()
    for suite in SUITES.values():
        table = Table(title=f"{suite.name}: {suite.summary}", title_justify="left")
        for column in ("task", "kind", "train", "dev", "test"):
            table.add_column(column, justify="left" if column in ("task", "kind") else "right")
        for task in suite.load():
            sizes = [f"{task.size(split):,}" for split in ("train", "dev", "test")]
            name = f"[bold]{task.name}[/]" + (" (auxiliary)" if task.auxiliary else "")
            table.add_row(name, repr(task.kind), *sizes)
        console.print(table)
    console.print("Name tasks or whole suites: rota train --tasks left,right,noise")
