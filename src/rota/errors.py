"""The one error for wrong input: a sentence that says what was expected, what was found, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class RotaError(ValueError):
    """Wrong input. The command line prints it as one sentence and exits with code 2."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` was probably meant to be.

    >>> nearest("stepps", ["steps", "seed"])
    'steps'
    """
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> RotaError:
    """An error for a name that is not in `known`, with the nearest one that is.

    >>> print(unknown_name("method", "exp3", ["uniform", "exp3s"]))
    Unknown method 'exp3'. Did you mean 'exp3s'? Known: exp3s, uniform.
    """
    names = sorted(known)
    near = nearest(name, names)
    hint = f" Did you mean '{near}'?" if near else ""
    return RotaError(f"Unknown {kind} '{name}'.{hint} Known: {', '.join(names)}.")
