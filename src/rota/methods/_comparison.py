"""Several plans that differ in what is compared, each with the same seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rota.errors import RotaError, describe_mistakes, unknown_name
from rota.methods._plan import MERGED, Plan, make_plan, merge_fields


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    about: str = ""
    common: dict[str, Any] = {}
    seeds: list[int] = Field([0, 1, 2], min_length=1)
    variants: dict[str, dict[str, Any]] = Field(min_length=1)
    baseline: str | None = None


@dataclass(frozen=True)
class Cell:
    """One run of a comparison."""

    variant: str
    seed: int
    plan: Plan

    def folder(self, out: Path) -> Path:
        return out / f"{self.variant}-{self.seed}"


@dataclass(frozen=True)
class Comparison:
    """What is compared.

    Args:
        about: What it is for.
        cells: All runs, one variant after the other within each seed: whoever stops early has whole seeds.
        baseline: The variant that all others are compared with.
    """

    about: str
    cells: tuple[Cell, ...]
    baseline: str

    @property
    def variants(self) -> list[str]:
        return list(dict.fromkeys(cell.variant for cell in self.cells))


def make_comparison(
    content: Mapping[str, Any], fields: Mapping[str, Any], seeds: Sequence[int] = (), source: str = "the file"
) -> Comparison:
    """A comparison from the content of a YAML file.

    Args:
        content: `variants` by name with the fields in which they differ, `common` fields, `seeds`, the `baseline` (by
            default the first variant), what it is `about`.
        fields: Fields of all plans that win over those.
        seeds: Instead of those of the file.
        source: Where the content comes from, for complaints.
    """
    try:
        file = _File.model_validate(dict(content))
    except ValidationError as error:
        raise RotaError(f"{source}: {describe_mistakes(error.errors(), list(_File.model_fields))}") from error
    baseline = file.baseline or next(iter(file.variants))
    if baseline not in file.variants:
        raise unknown_name("variant as baseline", baseline, file.variants)
    if "seed" in fields:
        raise RotaError("A comparison expects --seeds, such as 0,1,2. Found --seed.")
    for field in fields.keys() - MERGED:
        if any(field in own for own in file.variants.values()):
            raise RotaError(
                f"{source}: variants differ in '{field}', which expects no flag. Found one. Change the file instead."
            )
    cells = []
    for seed in seeds or file.seeds:
        for name, own in file.variants.items():
            merged = merge_fields(file.common, own, fields, {"seed": seed})
            cells.append(Cell(name, seed, make_plan(merged, source=f"{source}, variant '{name}'")))
    return Comparison(file.about, tuple(cells), baseline)
