"""The options of a method in words: for the command line and for the documents."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotated_types import Ge, Gt, Interval, Le, Lt
from pydantic.fields import FieldInfo

from rota.methods._options import Options

LARGEST = 2**31  # a limit that no person meets
NAMES = {int: "whole number", float: "number", bool: "true or false", str: "text"}


@dataclass(frozen=True)
class OptionRow:
    """One option.

    Args:
        name: Its name.
        takes: What it takes: type and limits.
        default: What it is if nobody says anything.
        reason: What it is for.

    >>> from rota.methods import METHODS, option_rows
    >>> [row.name for row in option_rows(METHODS["temperature"].options)]
    ['power']
    """

    name: str
    takes: str
    default: str
    reason: str


def option_rows(options: type[Options]) -> list[OptionRow]:
    """All options of a class, in the order of its fields.

    >>> class Mine(Options):
    ...     share: typing.Annotated[float, Interval(ge=0, lt=1)] = 0.5
    >>> option_rows(Mine)
    [OptionRow(name='share', takes='number ≥ 0, < 1', default='0.5', reason='')]
    """
    return [
        OptionRow(
            name, _takes(field.annotation, field.metadata), default_told(field), (field.description or "").strip()
        )
        for name, field in options.model_fields.items()
    ]


def default_told(field: FieldInfo) -> str:
    """The default as a person writes it.

    >>> from rota.settings import Settings
    >>> [default_told(Settings.model_fields[name]) for name in ("steps", "eval_rows", "clip")]
    ['600', 'none', '1.0']
    """
    if field.is_required():
        return "required"
    return _written(field.default)


def _written(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return ",".join(map(_written, value)) or "none"
    return str(value)


def _takes(annotation: Any, metadata: typing.Sequence[Any] = ()) -> str:
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _takes(parts[0], [*parts[1:], *metadata])
    if origin in (types.UnionType, typing.Union):
        return ", or ".join(_takes(part, metadata) for part in parts if part is not type(None))
    if origin is typing.Literal:
        return " | ".join(map(str, parts))
    if origin in (dict, Mapping):
        return f"{_takes(parts[1])} for each task"
    if origin is tuple:
        return f"list of {_plural(_takes(parts[0]))}" if parts[1:] == (...,) else " and ".join(map(_takes, parts))
    return " ".join(filter(None, [NAMES.get(annotation, str(annotation)), ", ".join(_limits(metadata))]))


def _plural(taken: str) -> str:
    """
    >>> _plural("text"), _plural("number ≥ 0")
    ('texts', 'numbers ≥ 0')
    """
    name = next((name for name in NAMES.values() if taken.startswith(name)), taken)
    return f"{name}s{taken[len(name) :]}"


def _limits(metadata: typing.Sequence[Any]) -> list[str]:
    found = []
    for limit in metadata:
        match limit:
            case Interval():
                found += _limits(list(limit))
            case Ge(ge):
                found.append(f"≥ {ge}")
            case Gt(gt):
                found.append(f"> {gt}")
            case Le(le) if le != LARGEST:
                found.append(f"≤ {le}")
            case Lt(lt):
                found.append(f"< {lt}")
            case _ if hasattr(limit, "metadata"):  # pydantic's Field inside of Annotated
                found += _limits(limit.metadata)
    return found
