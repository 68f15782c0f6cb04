"""How long a run is, in updates or in what all methods have in common."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rota.errors import RotaError, nearest

BudgetUnit = Literal["rows", "kept-rounds", "passes-of-target", "forwards"]
"""What the length of a run is counted in."""
UPDATES = "updates"
"""The usual budget: the updates of `Settings(steps=…)`."""
UNITS: tuple[BudgetUnit, ...] = ("rows", "kept-rounds", "passes-of-target", "forwards")
"""The units that come with an amount."""


@dataclass(frozen=True)
class Budget:
    """How much a run may use.

    Args:
        unit: rows: training rows, of all tasks together; kept-rounds: rounds, or passes over the rows where a method
            has none; passes-of-target: over the target's rows; forwards: forward passes of one row, a backward pass
            counting as two, with all that is thrown away.
        amount: How many of them.

    >>> Budget("rows", 20_000).told
    'rows:20000'
    """

    unit: BudgetUnit
    amount: float

    @property
    def told(self) -> str:
        """As it is written in a plan."""
        return f"{self.unit}:{self.amount:.15g}"


def read_budget(text: str) -> Budget | None:
    """The budget of a plan; None for updates, of which a plan has its steps.

    >>> read_budget("passes-of-target:5"), read_budget("updates")
    (Budget(unit='passes-of-target', amount=5.0), None)
    >>> read_budget("rows")
    Traceback (most recent call last):
    ...
    rota.errors.RotaError: A budget expects updates, or one of rows, kept-rounds, passes-of-target, forwards with an \
amount, such as rows:20000. Found 'rows'.
    """
    if text == UPDATES:
        return None
    word, _, amount = text.partition(":")
    number = _positive(amount)
    for unit in UNITS:
        if unit == word and number is not None:
            return Budget(unit, number)
    raise RotaError(f"A budget expects {budget_wish(text)}. Found '{text}'.")


def budget_wish(text: str) -> str:
    """What a budget looks like, with the word that was meant.

    >>> budget_wish("row:20").partition(" (")[2]
    "did you mean 'rows'?)"
    """
    word = text.partition(":")[0]
    near = None if word in UNITS else nearest(word, UNITS)
    hint = f" (did you mean '{near}'?)" if near else ""
    return f"updates, or one of {', '.join(UNITS)} with an amount, such as rows:20000{hint}"


def _positive(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number > 0 else None
