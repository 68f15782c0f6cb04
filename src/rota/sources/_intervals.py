"""What is measured at intervals during a run."""

from __future__ import annotations

from rota.errors import RotaError
from rota.settings import Settings

MEASUREMENTS = 20
"""In a run, where nobody says how often."""


def interval(every: int | None, settings: Settings, expects: str) -> int:
    """Steps between two measurements, where None is a twentieth of the run; refuse one that would never come.

    Args:
        every: As asked for.
        settings: Of the run.
        expects: The beginning of the complaint: who expects what.

    >>> interval(None, Settings(steps=100), "A survey expects to be made")
    5
    """
    every = max(1, settings.steps // MEASUREMENTS) if every is None else every
    if every >= settings.steps:
        raise RotaError(
            f"{expects} before the run ends. Found every={every} and Settings(steps={settings.steps}). Lower every."
        )
    return every


def at_least_one(source: object, *names: str, who: str) -> None:
    """Refuse a source one of whose numbers is smaller than one."""
    for name in names:
        found = getattr(source, name)
        if found is not None and found < 1:
            raise RotaError(f"{who} {name} of at least 1. Found {found}.")
