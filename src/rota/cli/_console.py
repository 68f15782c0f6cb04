"""Where verbs print."""

from __future__ import annotations

from rich.console import Console

WIDEST = 10_000  # characters in a line


def open_console(stderr: bool = False) -> Console:
    """A console for people, or for a pipe or a file: there lines are as long as what is in them, and nothing is cut."""
    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=WIDEST)
