"""Numbers and names as people write them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rota.analysis import Difference

LISTED = 12  # names in a sentence


def percent(value: float, digits: int = 1, signed: bool = False) -> str:
    """A score in percent, or a dash.

    >>> percent(0.8235), percent(-0.0042, 2, signed=True), percent(float("nan"))
    ('82.3', '−0.42', '–')
    """
    if np.isnan(value):
        return "–"
    return f"{100 * value:{'+' if signed else ''}.{digits}f}".replace("-", "−")


def number(value: float, digits: int) -> str:
    """A number, or a dash.

    >>> number(1234.5, 0), number(0.125, 2), number(float("nan"), 2)
    ('1,234', '0.12', '–')
    """
    return "–" if np.isnan(value) else f"{value:,.{digits}f}"


def interval(difference: Difference, digits: int = 1) -> str:
    """Where a difference may lie, in percent."""
    return ends(difference.low, difference.high, digits)


def ends(low: float, high: float, digits: int = 1) -> str:
    """An interval, in percent.

    >>> ends(-0.0123, 0.5)
    '[−1.2, 50.0]'
    """
    return f"[{percent(low, digits)}, {percent(high, digits)}]"


def counted(number: int, noun: str) -> str:
    """
    >>> counted(1, "run"), counted(3, "run")
    ('1 run', '3 runs')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def between(numbers: Iterable[int]) -> str:
    """
    >>> between({600}), between({300, 600})
    ('600', '300–600')
    """
    found = sorted(set(numbers))
    return str(found[0]) if len(found) == 1 else f"{found[0]}–{found[-1]}"


def listed(names: Iterable[str]) -> str:
    """Names for a sentence; the first ones if there are many."""
    found = list(names)
    more = f" and {len(found) - LISTED} more" if len(found) > LISTED else ""
    return ", ".join(found[:LISTED]) + more
