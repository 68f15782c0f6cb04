"""What a shell proposes after a flag. It is asked at every press of a key, so nothing here loads torch."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

import typer

from rota.methods import METHODS
from rota.settings import BEST, BY_METRIC

Proposal = Callable[..., Iterable[str]]


def method_names(incomplete: str) -> list[str]:
    """Methods that begin so."""
    return [name for name in METHODS if name.startswith(incomplete)]


def method_lists(incomplete: str) -> list[str]:
    """Lists with commas: what is there, and one more method.

    >>> method_lists("uniform,exp3s-")
    ['uniform,exp3s-visits']
    """
    before, comma, last = incomplete.rpartition(",")
    taken = before.split(",")
    return [f"{before}{comma}{name}" for name in method_names(last) if name not in taken]


def option_names(context: typer.Context, incomplete: str) -> list[str]:
    """Options of the method that was named before, with their equals sign."""
    method = METHODS.get(context.params.get("method") or "auto")
    names = list(method.options.model_fields) if method is not None else []
    return [f"{name}=" for name in names if f"{name}=".startswith(incomplete)]


def completed(name: str, annotation: Any) -> Proposal | None:
    """Who proposes values for a field of a plan or of a method; nobody where anything may stand."""
    if name == "method":
        return method_names
    if name == "options":
        return option_names
    choices = [*BEST, BY_METRIC] if name == "best" else _choices(annotation)
    return (lambda incomplete: [c for c in choices if c.startswith(incomplete)]) if choices else None


def _choices(annotation: Any) -> list[str]:
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        return [str(value) for value in typing.get_args(annotation)]
    if origin in (types.UnionType, typing.Union, typing.Annotated):
        return [choice for part in typing.get_args(annotation) for choice in _choices(part)]
    return []
