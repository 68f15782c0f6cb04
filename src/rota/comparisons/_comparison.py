"""Several plans that differ in what is compared, each with the same seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rota.budgets import UPDATES, read_budget
from rota.comparisons._comparison_file import FORWARDS, ComparisonFile, read_file
from rota.errors import RotaError, unknown_name
from rota.methods import METHODS
from rota.names import folder_name
from rota.plans import MERGED, Plan, make_plan, merge_fields, refuse_two_lengths

BASELINES = ("uniform", "proportional", "union", "temperature")
"""Part of every comparison, unless switched off by name: many a clever mixer does not beat them."""
COMPARISON = "comparison.json"
"""File of a comparison: what a reader of its folder has to know beside the runs."""
UNNAMED = {"method": BASELINES[0], "keep": "logs"}
"""What a variant has that says nothing else: variants differ in what they name. Tables and reports are made of logs."""
SINGLE = "single-"
"""What variants are called in which one task is trained alone."""
ADAPTED = "adapted"
"""What variants are called in which the model of a run learns a new task."""
FRESH = "fresh"
"""What variants are called in which the encoder learns it that the run began with."""


@dataclass(frozen=True)
class Cell:
    """One run of a comparison.

    >>> made = make_comparison({"methods": ["auto"]}, {"steps": 20}, seeds=[0])
    >>> made.cells[0].variant, made.cells[0].seed
    ('uniform', 0)
    """

    variant: str
    seed: int
    plan: Plan

    @property
    def name(self) -> str:
        return f"{self.variant}-{self.seed}"

    def folder(self, out: Path) -> Path:
        return out / self.name


@dataclass(frozen=True)
class Comparison:
    """What is compared.

    Args:
        about: What it is for.
        cells: All runs, one variant after the other within each seed: if it stops early, whole seeds are finished.
        baseline: The variant that all others are compared with.
        budget: What is equal: "updates"; "forwards", forward passes of one example and what costs as much; or the
            budget of every run, such as "rows:20000".
        claims: What is said about its results, as `rota.analysis.Claim` reads it.
        chosen: Variants of which claims may name the best on dev rows, by the name that it has there.

    >>> made = make_comparison({"methods": ["auto"]}, {"steps": 20}, seeds=[0])
    >>> list(made.variants)
    ['uniform', 'proportional', 'union', 'temperature', 'auto']
    """

    about: str
    cells: tuple[Cell, ...]
    baseline: str
    budget: str = UPDATES
    claims: tuple[dict[str, Any], ...] = ()
    chosen: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def variants(self) -> list[str]:
        return list(dict.fromkeys(cell.variant for cell in self.cells))

    def with_steps(self, steps: Mapping[str, int]) -> Comparison:
        """The same comparison with these numbers of updates for the variants."""
        cells = (replace(cell, plan=cell.plan.model_copy(update={"steps": steps[cell.variant]})) for cell in self.cells)
        return replace(self, cells=tuple(cells))

    def only(self, number: int) -> Comparison:
        """The same comparison with one of its runs.

        >>> made = make_comparison({"methods": ["auto"]}, {"steps": 20}, seeds=[0, 1])
        >>> made.only(5).cells[0].name
        'uniform-1'
        """
        if not 0 <= number < len(self.cells):
            last = len(self.cells) - 1
            raise RotaError(f"A number of a run expects 0 to {last}, since there are {last + 1}. Found {number}.")
        return replace(self, cells=(self.cells[number],))

    def described(self) -> dict[str, Any]:
        """What a reader of its folder has to know beside the runs."""
        return {
            "about": self.about,
            "baseline": self.baseline,
            "budget": self.budget,
            "variants": {
                variant: [cell.name for cell in self.cells if cell.variant == variant] for variant in self.variants
            },
            "claims": list(self.claims),
            **({"chosen": {name: list(of) for name, of in self.chosen.items()}} if self.chosen else {}),
        }


def make_comparison(
    content: Mapping[str, Any],
    fields: Mapping[str, Any],
    seeds: Sequence[int] = (),
    source: str = "the file",
    full: bool = False,
) -> Comparison:
    """A comparison from the content of a YAML file.

    Args:
        content: `variants` by name with the fields in which they differ, or `methods` and `models`, of which every
            pair is one; `common` fields, `seeds`, the `baseline` (by default `uniform`, else the first variant), what
            it is `about`, which plain baselines it does `without`, `singles`: tasks that are also trained alone, each
            with its share of the updates, or a mapping of such `tasks`, the variant `of` which they are the single-task
            form, and the `fields` in which they differ from it; what the `budget` counts, `claims`, and what changes at
            `full` size, where a variant that is null is left out and an empty mapping empties.
        fields: Fields of all plans that win over those.
        seeds: Instead of those of the file.
        source: Where the content comes from, for complaints.
        full: Take what the file says under `full`, too.

    >>> made = make_comparison({"methods": ["auto", "exp3s"]}, {"steps": 20}, seeds=[0, 1])
    >>> made.baseline, [cell.name for cell in made.cells][:3]
    ('uniform', ['uniform-0', 'proportional-0', 'union-0'])
    """
    file = read_file(content, source, full)
    if file.commands:
        raise RotaError(f"{source} expects other verbs than a comparison. Run {'; then '.join(file.commands)}.")
    if "seed" in fields:
        raise RotaError("A comparison expects seeds, such as 0,1,2. Found a field `seed`. Leave it out.")
    if file.budget not in (UPDATES, FORWARDS):
        file = file.model_copy(update={"common": {**file.common, "budget": file.budget}})
    own = {**_grid(file), **file.variants}
    variants = {**_baselines(file, own), **own}
    if not variants:
        raise RotaError(f"{source}: expected methods or variants to compare. Found none.")
    if file.singles.of is not None and file.singles.of not in variants:
        raise unknown_name("variant of the single tasks", file.singles.of, variants)
    like = variants.get(file.singles.of or "", {})
    variants |= {f"{SINGLE}{task}": _alone(task, file, like, fields) for task in file.singles.tasks}
    for name in variants:
        folder_name(name, "variant")
    for flag in fields.keys() - MERGED:
        if any(flag in own for name, own in variants.items() if not name.startswith(SINGLE)):
            raise RotaError(
                f"{source}: variants differ in '{flag}', which expects no flag. Found one. Change the file instead."
            )
    baseline = file.baseline or _usual_baseline(file, variants, own)
    if baseline not in variants:
        raise unknown_name("variant as baseline", baseline, variants)
    cells = []
    for seed in seeds or file.seeds:
        for name, own in variants.items():
            layers = (fields, own) if name.startswith(SINGLE) else (own, fields)
            merged = merge_fields(UNNAMED, file.common, *layers, {"seed": seed})
            refuse_two_lengths(merged, f"{source}, variant '{name}'")
            plan = make_plan(merged, source=f"{source}, variant '{name}'")
            if plan.method not in METHODS:
                raise unknown_name("method", plan.method, METHODS)
            cells.append(Cell(name, seed, plan))
    for name, of in file.chosen.items():
        if name in variants or not of:
            raise RotaError(f"{source}: `chosen` expects a new name for some variants. Found {name}: {', '.join(of)}.")
        for variant in of:
            if variant not in variants:
                raise unknown_name(f"variant to choose {name} from", variant, variants)
    return Comparison(file.about, tuple(cells), baseline, file.budget, tuple(file.claims), file.chosen)


def other_verbs(content: Mapping[str, Any], source: str = "the file", full: bool = False) -> list[str]:
    """The commands of an experiment that is no comparison; none where it is one.

    >>> other_verbs({"commands": ["rota simulate --seeds 10"]}), other_verbs({"methods": ["auto"]})
    (['rota simulate --seeds 10'], [])
    """
    return read_file(content, source, full).commands


def _grid(file: ComparisonFile) -> dict[str, dict[str, Any]]:
    """A variant for every method, with every model where there are several."""
    if len(file.models) < 2:
        one = {"model": file.models[0]} if file.models else {}
        return {method: {"method": method, **one} for method in file.methods}
    return {
        _joined(method, model): {"method": method, "model": model} for model in file.models for method in file.methods
    }


def _baselines(file: ComparisonFile, variants: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The plain methods that are not there yet, with every model."""
    for name in file.without:
        if name not in BASELINES:
            raise unknown_name("plain baseline to do without", name, BASELINES)
    wanted = [name for name in BASELINES if name not in file.without]
    found = {}
    for name, own in _grid(file.model_copy(update={"methods": wanted})).items():
        if not any(_same(own, other, file.common) for other in variants.values()):
            found[name] = own
    return found


def _usual_baseline(file: ComparisonFile, variants: Mapping[str, Mapping[str, Any]], own: Iterable[str]) -> str:
    """`uniform`, whatever it is called; else the first that the user has named."""
    found = (name for name, other in variants.items() if name == BASELINES[0] or _same(UNNAMED, other, file.common))
    return next(found, None) or next(iter([*own, *variants]))


def _alone(task: str, file: ComparisonFile, like: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """One task, trained as a variant is, with an equal share of the updates, rows or forward passes."""
    length = {"steps": Plan.model_fields["steps"].default, "budget": UPDATES}
    asked = merge_fields(length, file.common, like, fields)
    own = {name: value for name, value in like.items() if name not in ("method", "options")}
    share: dict[str, Any] = {"method": "singletask", "target": task}
    budget, tasks = read_budget(str(asked["budget"])), len(file.singles.tasks)
    if budget is None:
        share["steps"] = max(1, int(asked["steps"]) // tasks)
    elif budget.unit in ("rows", "forwards"):
        share["budget"] = replace(budget, amount=budget.amount / tasks).told
    return merge_fields(own, share, file.singles.fields)


def _same(own: Mapping[str, Any], other: Mapping[str, Any], common: Mapping[str, Any]) -> bool:
    """Whether two variants are one plan."""
    return merge_fields(UNNAMED, common, own) == merge_fields(UNNAMED, common, other)


def _joined(method: str, model: str) -> str:
    """The name of a pair, which is also that of a folder.

    >>> _joined("exp3s", "camtl:encoders/small")
    'exp3s-camtl-small'
    """
    parts: Iterable[str] = (part.rsplit("/", 1)[-1] for part in model.split(":"))
    return "-".join([method, *parts])
