"""`rota claims`: what papers claim, and whether a comparison bears it out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from rota.cli._comparisons import read_comparison
from rota.cli._console import open_console
from rota.cli._fields import read_fields
from rota.errors import RotaError

if TYPE_CHECKING:
    from rota.analysis import Verdict


def claims(
    results: Annotated[list[Path], typer.Argument(help="folders that `rota compare` has filled")],
    file: Annotated[
        Path | None, typer.Option(help="take the claims of this experiment file instead of those it was run with")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="print a Markdown table")] = False,
) -> None:
    """Print what is claimed about a comparison: the paper's figure, ours, and whether it holds.

    rota claims runs/002-table-1

    A claim holds, or does not, where the 95 % interval of the paired difference says so; else these seeds cannot tell.
    """
    from rota.analysis import judge, read_claims  # late: they take a moment

    console = open_console()
    for folder in results:
        content = read_comparison(folder)
        said = read_fields(file, "claims:").get("claims", []) if file else content["claims"]
        verdicts = judge(read_claims(said, str(file or folder)), folder, content["variants"])
        if not verdicts:
            raise RotaError(f"Expected claims about {folder}. Found none in its experiment file.")
        if markdown:
            rows = [(v.claim.says, v.claim.paper or "–", v.ours, v.told) for v in verdicts]
            console.print(_markdown(rows), highlight=False, markup=False, soft_wrap=True)
        else:
            console.print(verdict_table(content["about"], verdicts))


def verdict_table(title: str, verdicts: Sequence[Verdict]) -> Table:
    """Claims and their verdicts; papers where there are any."""
    papers = any(verdict.claim.paper for verdict in verdicts)
    columns = ["claim", *(["paper"] if papers else []), "ours", "verdict"]
    table = Table(*columns, title=escape(title), title_justify="left")
    for verdict in verdicts:
        paper = [verdict.claim.paper or "–"] if papers else []
        table.add_row(*map(escape, [verdict.claim.says, *paper, verdict.ours, verdict.told]))
    return table


def _markdown(rows: list[tuple[str, str, str, str]]) -> str:
    lines = ["| claim | paper | ours | verdict |", "|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])
