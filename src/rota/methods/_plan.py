"""Everything that one run is asked for: what to train on, by which method, how."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from rota.errors import RotaError, nearest
from rota.settings import Settings


class Plan(Settings):
    """Settings of the training, and what to train. A YAML file and the flags of `rota train` have these fields."""

    tasks: tuple[str, ...] = Field(("digits",), min_length=1, description="tasks or suites (see `rota tasks`)")
    method: str = Field("uniform", description="what decides whose turn it is (see `rota methods`)")
    options: dict[str, Any] = Field({}, description="options of the method")
    rows: dict[str, int] = Field({}, description="use only so many training rows of a task")
    dropout: float = Field(0.1, ge=0, lt=1, description="of the encoder")


def make_plan(fields: Mapping[str, Any], source: str = "the plan") -> Plan:
    """A plan from plain fields; report every wrong field at once."""
    try:
        return Plan.model_validate(dict(fields))
    except ValidationError as error:
        raise RotaError(f"{source}: {describe(error, list(Plan.model_fields))}") from error


def describe(error: ValidationError, known: list[str]) -> str:
    """All mistakes of a validation in one sentence each: field, expected, found."""
    said = []
    for mistake in error.errors():
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
