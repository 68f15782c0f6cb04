"""What one sees while a comparison is trained."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from rota.comparisons import Cell, Comparison, Event, steps_done


class GridProgress:
    """A line for each run; on a terminal with several processes, bars of the whole and of those that are at work.

    Args:
        comparison: What is trained.
        out: Where.
        console: Where to print.
        jobs: Processes at a time; a run that is alone shows a bar of its own.
    """

    def __init__(self, comparison: Comparison, out: Path, console: Console, jobs: int) -> None:
        self.out, self.console, self.total = out, console, len(comparison.cells)
        self.ended = 0
        self.running: dict[str, tuple[Cell, TaskID, float]] = {}
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        self.bars = Progress(*columns, console=console, disable=jobs == 1 or not console.is_terminal)
        self.whole = self.bars.add_task("all runs", total=self.total)

    def __enter__(self) -> GridProgress:
        self.bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bars.stop()

    def hear(self, event: Event) -> None:
        """Show what happened."""
        if event.kind == "started" and event.cell is not None:
            bar = self.bars.add_task(escape(event.cell.name), total=event.cell.plan.steps)
            self.running[event.cell.name] = event.cell, bar, time.monotonic()
        elif event.kind == "waiting":
            for cell, bar, _ in self.running.values():
                self.bars.update(bar, completed=steps_done(cell, self.out))
        elif event.cell is not None:
            self._over(event, event.cell)

    def _over(self, event: Event, cell: Cell) -> None:
        self.ended += 1
        self.bars.update(self.whole, completed=self.ended)
        line = f"[dim]{self.ended}/{self.total}[/dim]  {escape(cell.variant)}, seed {cell.seed}"
        if cell.name in self.running:
            _, bar, began = self.running.pop(cell.name)
            self.bars.remove_task(bar)
            line += f"  [dim]{time.monotonic() - began:.0f} s[/dim]"
        told = {"kept": "[dim]kept[/dim]", "failed": f"[red]failed[/red]: {escape(event.said)}"}
        told["left"] = f"left to others: {escape(event.said)}"
        told["queued"] = f"queued: {escape(event.said)}"
        line += f"  {told[event.kind]}" if event.kind in told else ""
        self.console.print(line, highlight=False)
