"""`rota report`: one page from one or many runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from rota.cli._comparisons import compared_runs, is_comparison, read_comparison
from rota.cli._console import open_console
from rota.errors import RotaError

STDOUT = Path("-")


def report(
    places: Annotated[list[Path], typer.Argument(help="run folders, or folders that hold some")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="the file [dim](report.html in the first place)[/dim]; - prints md, csv and json"
        ),
    ] = None,
    form: Annotated[
        Literal["html", "md", "csv", "json"],
        typer.Option("--format", help="a page for the browser, or its tables as Markdown, CSV or JSON"),
    ] = "html",
    baseline: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="what the others are compared with, by its name on the page; uniform"),
    ] = None,
) -> None:
    """Write one self-contained HTML page: scores, curves, mixtures, costs.

    rota report runs
    rota report runs --format md -o -

    In the folder of a comparison its variants have the names that they were given there.
    """
    from rota.report import report_text, write_report  # late: it takes a moment
    from rota.runlog import Run, find_runs

    if out == STDOUT and form == "html":
        raise RotaError("-o - expects --format md, csv or json beside it. Found html.")
    names: dict[Path, str] | None = None
    if len(places) == 1 and is_comparison(places[0]):
        names = compared_runs(places[0])
        baseline = baseline or read_comparison(places[0])["baseline"]
    runs = find_runs(places) if names is None else [Run(folder) for folder in names]
    if out == STDOUT:
        typer.echo(report_text(runs, form, baseline=baseline, names=names), nl=False)
        return
    page = out or places[0] / f"report.{form}"
    write_report(runs, page, baseline=baseline, names=names, form=form)
    open_console().print(f"{len(runs)} run(s) in {page}", highlight=False, markup=False, soft_wrap=True)
