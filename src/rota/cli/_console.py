"""Where verbs print."""

from __future__ import annotations

import os

from rich.console import Console

WIDEST = 10_000  # characters in a line


def open_console(stderr: bool = False) -> Console:
    """A console for people, or for a pipe or a file: there lines are as long as what is in them, and nothing is cut."""
    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=WIDEST)


def tell(line: str) -> None:
    """Say what is going on, beside what is printed. A verb that trains says something before it loads torch or reads
    data, which may take long."""
    if int(os.environ.get("RANK", 0)) == 0:  # the first of several processes speaks
        open_console(stderr=True).print(line, style="dim", highlight=False, markup=False, soft_wrap=True)
