"""`rota report`: one page from one or many runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def report(
    places: Annotated[list[Path], typer.Argument(help="run folders, or folders that hold some")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="the page [dim](report.html in the first place)[/dim]")
    ] = None,
) -> None:
    """Write one self-contained HTML page: scores, curves, mixtures, costs."""
    from rota.report import write_report  # late: it loads plotly
    from rota.runlog import find_runs

    page = out or places[0] / "report.html"
    runs = find_runs(places)
    write_report(runs, page)
    Console().print(f"{len(runs)} run(s) in {page}", highlight=False, markup=False, soft_wrap=True)
