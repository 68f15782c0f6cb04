"""The one error for wrong input: a sentence that says what was expected, what was found, and what to do."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["MissingPackageError", "RotaError"]

SHORT = reprlib.Repr()
"""Shows what was found in a line: a few YAML anchors make a value whose whole `repr` would fill the memory."""
SHORT.maxlevel, SHORT.maxstring, SHORT.maxlong, SHORT.maxother = 2, 200, 80, 200


class RotaError(ValueError):
    """Wrong input. The command line prints it as one sentence and exits with code 2.

    >>> raise RotaError("Expected a share between 0 and 1. Found 3.")
    Traceback (most recent call last):
    ...
    rota.errors.RotaError: Expected a share between 0 and 1. Found 3.
    """


class MissingPackageError(RotaError, ImportError):
    """A package that is not installed, and which extra brings it.

    >>> str(missing_package("`rota.fit`", "torch", "train"))
    "`rota.fit` needs the package torch. Install it: pip install 'rota[train]'."
    """


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


def yaml_fault(error: Exception) -> str:
    """What a YAML parser complains about, with the line; without the parser's name for the text.

    >>> yaml_fault(ValueError("month must be in 1..12"))
    'month must be in 1..12'
    """
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None or problem is None:
        return " ".join(str(error).split())[:200]
    return f"in line {mark.line + 1}: {problem}"


def resuming(folder: object, checkpoint: str | None = None, elastic: bool = False) -> str:
    """How a run is gone on with, as a program says it; the command line puts it into its own words.

    >>> resuming("runs/a")
    "fit(…, 'runs/a', resume=True)"
    """
    other = ", elastic=True" if elastic else ""
    return f"fit(…, '{folder}', resume={True if checkpoint is None else repr(checkpoint)}{other})"


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
            wish = mistake["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
            said.append(f"expected {wish}")
        elif mistake["type"] == "extra_forbidden":
            near = nearest(field, known)
            hint = f"did you mean '{near}'?" if near else f"known: {', '.join(known) or 'none'}"
            said.append(f"unknown field '{field}' ({hint})")
        elif mistake["type"] == "missing":
            said.append(f"'{field}' is missing")
        else:
            wish = mistake["msg"].removeprefix("Input should be ").removeprefix("a valid ")
            said.append(f"'{field}' expects {wish.split(', unable')[0]}, found {SHORT.repr(mistake['input'])}")
    count = f"{len(said)} wrong fields" if len(said) > 1 else "1 wrong field"
    return f"{count}: {'; '.join(said)}."
