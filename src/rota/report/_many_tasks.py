"""Which tasks are drawn where there are more than a page can show."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rota.report._words import counted

DRAWN = 12
"""Small figures of a kind, at most."""


def foremost(tasks: Iterable[str], weight: Callable[[str], float]) -> list[str]:
    """All tasks where they are few, else those with the largest weight, the largest first.

    >>> foremost(["a", "b"], {"a": 1.0, "b": 2.0}.get)
    ['a', 'b']
    >>> foremost(map(str, range(300)), float)[:2]
    ['299', '298']
    """
    found = list(tasks)
    return found if len(found) <= DRAWN else sorted(found, key=lambda task: -weight(task))[:DRAWN]


def left_out(all_tasks: int, why: str, elsewhere: str = "; the table has all of them") -> str:
    """What is said where some are not drawn; nothing where all are."""
    return "" if all_tasks <= DRAWN else f"{DRAWN} of {counted(all_tasks, 'task')}: {why}{elsewhere}."
