"""`rota demo`: several methods on the handwritten digits, and the page that compares them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from rota.cli._fields import chosen_methods
from rota.cli._grid import GridProgress
from rota.cli._tables import mean_and_spread
from rota.comparisons import BASELINES, make_comparison, run_comparison
from rota.errors import RotaError
from rota.runlog import Run


def demo(
    out: Annotated[Path, typer.Option(help="folder for the runs and the page")] = Path("runs/demo"),
    methods: Annotated[
        str, typer.Option(metavar="A,B,…", help="methods to compare")
    ] = "uniform,proportional,union,temperature,auto",
    seeds: Annotated[int, typer.Option(min=1, help="runs of each method")] = 3,
    steps: Annotated[int, typer.Option(min=1, help="updates of each run")] = 600,
) -> None:
    """Train on the bundled digits with several methods and seeds, and write report.html.

    Runs that are finished are kept; run it again to go on where it stopped.
    """
    names = chosen_methods(methods)
    common = {"tasks": ["digits"], "steps": steps}
    content = {"common": common, "methods": names, "without": list(BASELINES), "seeds": list(range(seeds))}
    comparison = make_comparison(content, {})
    from rota.report import refuse_without_packages, write_report  # late: it takes a moment

    refuse_without_packages()
    console = Console()
    runs = []
    with GridProgress(comparison, out, console, jobs=1) as progress:
        for event in run_comparison(comparison, out, progress=console.is_terminal):
            progress.hear(event)
            if event.kind == "failed":
                raise RotaError(event.said)
            runs += [event.run] if event.run else []
    console.print(_table(runs, names))
    page = out / "report.html"
    write_report(runs, page)
    console.print(f"The report is in {page.resolve()}", highlight=False, markup=False, soft_wrap=True)


def _table(runs: list[Run], names: list[str]) -> Table:
    counted = [task for task, info in runs[0].info["tasks"].items() if not info["auxiliary"]]
    table = Table(title="Test scores of the best checkpoint, mean ± std over seeds", title_justify="left")
    table.add_column("method")
    for column in ("average", *counted, "s per run"):
        table.add_column(column, justify="right")
    for name in names:
        own = [run.summary for run in runs if run.plan["method"] == name]
        tests = [summary["best"]["test"] for summary in own]
        columns = [[t["average"] for t in tests], *([t["tasks"][task]["score"] for t in tests] for task in counted)]
        seconds = np.mean([summary["seconds"] for summary in own])
        table.add_row(name, *map(mean_and_spread, columns), f"{seconds:.1f}")
    return table
