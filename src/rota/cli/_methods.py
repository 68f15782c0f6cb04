"""`rota methods`: what there is to choose from."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from rota.methods import METHODS


def methods() -> None:
    """List the methods, where they come from, and their options."""
    table = Table("method", "what it does", "from", "options", title="Methods", title_justify="left")
    for method in METHODS.values():
        fields = method.options.model_fields.items()
        options = ", ".join(name if f.is_required() else f"{name}={f.default}" for name, f in fields)
        table.add_row(f"[bold]{method.name}", method.summary, method.source, options)
    console = Console()
    console.print(table)
    console.print("Numbers 000 to 004 are papers, see docs/find-it-by-paper.md.")
    console.print("Example: rota train --method exp3s --option eta=0.01")
