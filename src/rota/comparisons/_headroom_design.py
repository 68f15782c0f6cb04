"""A designed set of mixtures, trained at a part of the budget, and a few of them at the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rota.comparisons._comparison import Comparison, make_comparison
from rota.errors import RotaError
from rota.plans import Plan
from rota.surfaces import designed_mixtures, plain_mixtures

MIXTURES = 32
"""Of a design, where nobody says how many."""
FEW = 6
"""Mixtures that are trained at the full budget, too: the plain ones, and others to see how much differences stretch."""
WHOLE = "full "
"""What their variants are called, before the name of the mixture."""
OWN_FIELDS = ("method", "options", "best")
"""Fields of a plan that a design has by its nature: nothing is chosen by the scores that it compares."""


def headroom_comparison(
    sizes: Mapping[str, int],
    fields: Mapping[str, Any],
    seeds: Sequence[int] = (),
    mixtures: int = MIXTURES,
    fraction: float = 1.0,
) -> Comparison:
    """Mixtures of the tasks, of which a law of all others is made.

    Args:
        sizes: Training rows of each task.
        fields: Of all plans; `steps` are those of the full budget.
        seeds: Of each mixture; the same for all, so that their luck is the same.
        mixtures: How many.
        fraction: Part of the steps that they are trained for. Below 1, a few are also trained for all of them.

    >>> made = headroom_comparison({"rte": 100, "mnli": 400}, {"steps": 100}, [0], mixtures=8, fraction=0.25)
    >>> [(cell.variant, cell.plan.steps) for cell in made.cells if "uniform" in cell.variant]
    [('uniform', 25), ('full uniform', 100)]
    >>> made.cells[0].plan.options
    {'weights': {'rte': 0.5, 'mnli': 0.5}}
    """
    if given := sorted(set(OWN_FIELDS) & fields.keys()):
        raise RotaError(f"A design of mixtures decides {', '.join(given)} itself. Found it given. Leave it out.")
    if not 0 < fraction <= 1:
        raise RotaError(f"A fraction of the steps expects a number above 0 and at most 1. Found {fraction:g}.")
    steps = int(fields.get("steps", Plan.model_fields["steps"].default))
    part = max(1, round(steps * fraction))
    design = designed_mixtures(sizes, mixtures)
    variants = {name: _fixed(mixture, part) for name, mixture in design.items()}
    if part < steps:
        plain = plain_mixtures(sizes)
        others = [name for name in design if name not in plain]
        more = others[:: max(1, len(others) // (FEW - len(plain)))][: FEW - len(plain)]
        variants |= {f"{WHOLE}{name}": _fixed(design[name], steps) for name in [*plain, *more]}
    common = {"best": "last", "eval_every": steps, **fields}
    common.pop("steps", None)
    content = {
        "about": "How much is there to win",
        "common": common,
        "variants": variants,
        "without": ["uniform", "proportional", "union", "temperature"],
        "baseline": next(iter(variants)),
    }
    return make_comparison(content, {}, seeds or (0, 1), "the mixtures")


def _fixed(mixture: Mapping[str, float], steps: int) -> dict[str, Any]:
    return {"method": "fixed", "options": {"weights": dict(mixture)}, "steps": steps}
