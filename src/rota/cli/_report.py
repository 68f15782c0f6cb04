"""`rota report`: one page from one or many runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer

from rota.cli._comparisons import compared_runs, is_comparison, read_comparison
from rota.cli._console import open_console
from rota.cli._watching import watch
from rota.errors import RotaError
from rota.runlog import DamagedFileError, Run, find_runs

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
    medians: Annotated[bool, typer.Option("--medians", help="curves are medians over seeds, not means")] = False,
    watched: Annotated[
        bool,
        typer.Option("--watch", help="write the page again while its runs go on; the browser follows. Ctrl-C ends it"),
    ] = False,
) -> None:
    """Write one self-contained HTML page: scores, shares, curves, costs.

    rota report runs
    rota report runs --watch
    rota report runs --format md -o -

    In the folder of a comparison its variants have the names that they were given there.
    """
    from rota.report import report_text, write_report  # late: it takes a moment

    if out == STDOUT and (form == "html" or watched):
        raise RotaError("-o - expects --format md, csv or json beside it, and no --watch.")
    if watched and form != "html":
        raise RotaError(f"--watch expects a page for the browser. Found --format {form}.")
    page, console = out or places[0] / f"report.{form}", open_console()

    def write(reload_s: float | None = None) -> list[Run]:
        runs, names, against = _found(places, baseline)
        return _without_damaged(
            runs,
            lambda good: write_report(
                good, page, baseline=against, names=names, form=form, reload_s=reload_s, medians=medians
            ),
        )

    if out == STDOUT:
        runs, names, against = _found(places, baseline)
        _without_damaged(
            runs, lambda good: typer.echo(report_text(good, form, baseline=against, names=names), nl=False)
        )
        return
    if watched:
        said = f"{page} is written again while its runs go on"
        console.print(said, highlight=False, markup=False, soft_wrap=True)
        ended = watch(lambda: _planned(places), write)
        said = f"{'all runs have ended' if ended else 'no longer watched'}: {page} stays as it is"
    else:
        shown = write()
        said = f"{len(shown)} {'run' if len(shown) == 1 else 'runs'} in {page}"
    console.print(said, highlight=False, markup=False, soft_wrap=True)


def _found(places: list[Path], baseline: str | None) -> tuple[list[Run], dict[Path, str] | None, str | None]:
    """The runs, what a comparison calls them, and what they are compared with."""
    if len(places) == 1 and is_comparison(places[0]):
        names = compared_runs(places[0])
        return [Run(folder) for folder in names], names, baseline or read_comparison(places[0])["baseline"]
    return find_runs(places), None, baseline


def _planned(places: list[Path]) -> list[Path]:
    """The folders of all runs, of a comparison also of those that have not begun."""
    if len(places) == 1 and is_comparison(places[0]):
        return [places[0] / run for runs in read_comparison(places[0])["variants"].values() for run in runs]
    return [run.folder for run in find_runs(places)]


def _without_damaged(runs: list[Run], report: Callable[[list[Run]], object]) -> list[Run]:
    """Report these runs, but for those with a file that is damaged, which are named; those that were reported."""
    while True:
        try:
            report(runs)
        except DamagedFileError as error:
            good = [run for run in runs if run.folder not in error.path.parents]
            if not good or len(good) == len(runs):
                raise
            said = f"{error} It is left out."
            open_console(stderr=True).print(said, highlight=False, markup=False, soft_wrap=True)
            runs = good
        else:
            return runs
