"""The one error for wrong input: a sentence that says what was expected, what was found, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class RotaError(ValueError):
    """Wrong input. The command line prints it as one sentence and exits with code 2."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> RotaError:
    """An error for a name that is not in `known`, with the nearest one that is.

    >>> print(unknown_name("method", "exp3", ["uniform", "exp3s"]))
    Unknown method 'exp3'. Did you mean 'exp3s'? Known: exp3s, uniform.
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return RotaError(f"Unknown {kind} '{name}'.{hint} Known: {', '.join(names)}.")
