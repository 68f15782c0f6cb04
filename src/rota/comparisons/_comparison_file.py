"""What the YAML file of a comparison says."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from rota.budgets import UPDATES
from rota.errors import RotaError, describe_mistakes
from rota.settings import Settings

FORWARDS = "forwards"
"""The budget of a comparison whose variants cost what its baseline costs; an amount is that of every run."""


class _Singles(BaseModel):
    """Tasks that are also trained alone, as the variant `of` is trained but for these `fields`."""

    model_config = ConfigDict(extra="forbid")

    tasks: list[str] = []
    of: str | None = None
    fields: dict[str, Any] = {}


class ComparisonFile(BaseModel):
    """Its fields; `make_comparison` says what they mean."""

    model_config = ConfigDict(extra="forbid")

    about: str = ""
    common: dict[str, Any] = {}
    seeds: list[int] = Field([0, 1, 2], min_length=1)
    methods: list[str] = []
    models: list[str] = []
    variants: dict[str, dict[str, Any]] = {}
    baseline: str | None = None
    without: list[str] = []
    singles: _Singles = _Singles()
    budget: str = UPDATES
    claims: list[dict[str, Any]] = []
    chosen: dict[str, list[str]] = {}
    commands: list[str] = []
    full: dict[str, Any] = {}

    @field_validator("singles", mode="before")
    @classmethod
    def _tasks_alone_are_enough(cls, given: Any) -> Any:
        return {"tasks": given} if isinstance(given, list | tuple) else given

    @field_validator("budget")
    @classmethod
    def _is_a_budget(cls, budget: str) -> str:
        return budget if budget == FORWARDS else Settings(budget=budget).budget


def read_file(content: Mapping[str, Any], source: str, full: bool) -> ComparisonFile:
    """The file, with what it says under `full` laid over the rest where that is wanted."""
    file = _read(content, source)
    if not full or (file.commands and not file.full):
        return file
    if "full" not in content:
        raise RotaError(f"{source}: expected a section `full`. Found none.")
    whole = _overlaid(content, file.full)
    if isinstance(whole.get("variants"), Mapping):
        whole["variants"] = {name: own for name, own in whole["variants"].items() if own is not None}
    return _read(whole, source)


def _read(content: Mapping[str, Any], source: str) -> ComparisonFile:
    try:
        return ComparisonFile.model_validate(dict(content))
    except ValidationError as error:
        raise RotaError(f"{source}: {describe_mistakes(error.errors(), list(ComparisonFile.model_fields))}") from error


def _overlaid(content: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """One mapping laid over another: what only one of them has stays, but an empty mapping empties."""
    found = copy.deepcopy(dict(content))
    for name, value in other.items():
        both = isinstance(value, Mapping) and isinstance(found.get(name), Mapping)
        found[name] = _overlaid(found[name], value) if both and value else value
    return found
