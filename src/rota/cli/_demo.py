"""`rota demo`: several methods on the handwritten digits, and the page that compares them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from rota.cli._fields import chosen_methods
from rota.cli._tables import number
from rota.methods import make_plan
from rota.runlog import Run


def demo(
    out: Annotated[Path, typer.Option(help="folder for the runs and the page")] = Path("runs/demo"),
    methods: Annotated[
        str, typer.Option(metavar="A,B,…", help="methods to compare")
    ] = "uniform,proportional,union,temperature,exp3s",
    seeds: Annotated[int, typer.Option(min=1, help="runs of each method")] = 3,
    steps: Annotated[int, typer.Option(min=1, help="updates of each run")] = 600,
) -> None:
    """Train on the bundled digits with several methods and seeds, and write report.html.

    Runs that are finished are kept; run it again to go on where it stopped.
    """
    names = chosen_methods(methods)
    from rota.methods import run_plan  # late: they load torch and plotly
    from rota.report import write_report

    console = Console()
    grid = [(name, seed) for name in names for seed in range(seeds)]
    runs = []
    for done, (name, seed) in enumerate(grid, start=1):
        folder = out / f"{name}-{seed}"
        console.print(f"[dim]{done}/{len(grid)}[/dim]  {name}, seed {seed}", highlight=False)
        plan = make_plan({"tasks": ["digits"], "method": name, "seed": seed, "steps": steps})
        runs.append(run_plan(plan, folder, resume=(folder / "run.json").is_file(), progress=console.is_terminal))
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
        table.add_row(name, *map(_spread, columns), f"{seconds:.1f}")
    return table


def _spread(values: list[float]) -> str:
    deviation = f" ± {100 * np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return number(float(np.mean(values))) + deviation
