"""The one error for wrong input: a sentence that says what was expected, what was found, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


class RotaError(ValueError):
    """Wrong input. The command line prints it as one sentence and exits with code 2."""


class MissingPackageError(RotaError, ImportError):
    """A package that is not installed, and which extra brings it."""


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


def resuming(folder: object, checkpoint: str | None = None) -> str:
    """How a run is gone on with, as a program says it; the command line puts it into its own words.

    >>> resuming("runs/a")
    "fit(…, 'runs/a', resume=True)"
    """
    return f"fit(…, '{folder}', resume={True if checkpoint is None else repr(checkpoint)})"


def missing_package(what: str, package: str, extra: str) -> RotaError:
    """What to say where a package is missing that is not needed by everybody.

    >>> print(missing_package("A search for ratios", "optuna", "search"))
    A search for ratios needs the package optuna. Install it: pip install 'rota[search]'.
    """
    return MissingPackageError(f"{what} needs the package {package}. Install it: pip install 'rota[{extra}]'.")


def describe_mistakes(mistakes: Sequence[Mapping[str, Any]], known: Sequence[str]) -> str:
    """All mistakes that pydantic found in one sentence each: field, expected, found."""
    said = []
    for mistake in mistakes:
        field = ".".join(str(part) for part in mistake["loc"])
        if not field:  # about several fields together
            said.append(f"expected {mistake['msg'].removeprefix('Value error, ')}")
        elif mistake["type"] == "extra_forbidden":
            near = nearest(field, known)
            hint = f"did you mean '{near}'?" if near else f"known: {', '.join(known) or 'none'}"
            said.append(f"unknown field '{field}' ({hint})")
        elif mistake["type"] == "missing":
            said.append(f"'{field}' is missing")
        else:
            wish = mistake["msg"].removeprefix("Input should be ").removeprefix("a valid ")
            said.append(f"'{field}' expects {wish.split(', unable')[0]}, found {mistake['input']!r}")
    count = f"{len(said)} wrong fields" if len(said) > 1 else "1 wrong field"
    return f"{count}: {'; '.join(said)}."
