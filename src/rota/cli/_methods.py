"""`rota methods`: what there is to choose from."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rota.cli._completion import method_names
from rota.cli._console import open_console
from rota.errors import unknown_name
from rota.methods import METHODS, Method, option_rows


def methods(
    name: Annotated[
        str | None, typer.Argument(help="one of them, with all of its options", autocompletion=method_names)
    ] = None,
) -> None:
    """List the methods and where they come from, or the options of one of them.

    rota methods exp3s
    """
    console = open_console()
    if name is None:
        table = Table("method", "what it does", "from", box=SIMPLE_HEAD, pad_edge=False)
        for method in METHODS.values():
            table.add_row(f"[bold]{escape(method.name)}", escape(method.summary), escape(method.source))
        console.print(table)
        console.print("The options of one: rota methods exp3s", highlight=False)
        console.print("Papers, and what is here of each: docs/find-it-by-paper.md", highlight=False)
        console.print("To use it: rota train --method exp3s --option eta=0.01", highlight=False)
        return
    if name not in METHODS:
        raise unknown_name("method", name, METHODS)
    _show(METHODS[name], console)


def _show(method: Method, console: Console) -> None:
    """Everything about one method."""
    console.print(f"[bold]{escape(method.name)}[/]: {escape(method.summary)}", highlight=False)
    if method.source:
        console.print(f"From: {escape(method.source)}", highlight=False)
    if "target" in method.needs:
        console.print("Needs a target: --target TASK", highlight=False)
    rows = option_rows(method.options)
    if not rows:
        console.print("It has no options.")
        return
    table = Table("option", "takes", "default", "what it is for", box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(f"[bold]{row.name}", escape(row.takes), escape(row.default), escape(row.reason))
    console.print(table)
    console.print(f"To use them: rota train --method {method.name} --option {rows[0].name}=…", highlight=False)
