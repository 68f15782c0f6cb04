"""Each task alone and beside each other one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rota.comparisons._comparison import Comparison, make_comparison
from rota.errors import RotaError, unknown_name
from rota.plans import Plan

EVEN = (1, 1)
DECIDED = ("method", "options", "target", "best", "budget")
"""Fields of a plan that a table of transfer has by its nature: nothing is chosen by the scores that it compares."""


def transfer_comparison(
    tasks: Sequence[str],
    fields: Mapping[str, Any],
    seeds: Sequence[int] = (),
    targets: Sequence[str] = (),
    ratios: Sequence[tuple[int, int]] = (EVEN,),
) -> Comparison:
    """Each task alone, and beside each other one. In all of its runs a task has the same number of batches, of the same
    rows in the same order; those of the helper come on top. With as many batches of both, one run serves both.

    Args:
        tasks: Their names; the model has a head for each of them in every run.
        fields: Of all plans; `steps` are those of the task alone.
        seeds: Of each variant.
        targets: Only what helps these; all by default.
        ratios: Batches of the target and of the helper.

    >>> made = transfer_comparison(["rte", "mnli", "cola"], {"steps": 100}, seeds=[0], targets=["rte"])
    >>> [(cell.variant, cell.plan.steps) for cell in made.cells]
    [('rte', 100), ('rte+mnli', 200), ('rte+cola', 200)]
    """
    for name in targets:
        if name not in tasks:
            raise unknown_name("target", name, tasks)
    if len(tasks) < 2:
        raise RotaError(f"A table of transfer expects at least two tasks. Found {len(tasks)}.")
    if given := sorted(set(DECIDED) & fields.keys()):
        raise RotaError(f"A table of transfer decides {', '.join(given)} itself. Found it given. Leave it out.")
    steps = int(fields.get("steps", Plan.model_fields["steps"].default))
    variants = dict(_variants(tasks, targets or tasks, ratios, steps))
    common = {"best": "last", "eval_every": 2 * max(own["steps"] for own in variants.values()), **fields}
    common.pop("steps", None)
    content = {
        "about": "Which task helps which",
        "common": common,
        "variants": variants,
        "without": ["uniform", "proportional", "union", "temperature"],
        "baseline": next(iter(variants)),
    }
    return make_comparison(content, {}, seeds or (0, 1, 2), "the tasks")


def _variants(
    tasks: Sequence[str], targets: Iterable[str], ratios: Sequence[tuple[int, int]], steps: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    wanted = set(targets)
    for number, task in enumerate(tasks):
        if task in wanted:
            yield task, _fields(tasks, {task: 1}, steps, task)
        for other, ratio in itertools.product(tasks[:number], ratios):
            asked = [(own, its) for own, its in ((other, task), (task, other)) if own in wanted]
            if ratio == EVEN and len(asked) == 2:
                yield f"{other}+{task}", _fields(tasks, {other: 1, task: 1}, 2 * steps)
                continue
            for target, helper in asked:
                batches = dict(zip((target, helper), ratio, strict=True))
                updates = math.ceil(steps * sum(ratio) / batches[target])
                ending = "" if ratio == EVEN else "-{}-{}".format(*ratio)
                yield f"{target}+{helper}{ending}", _fields(tasks, batches, updates, target)


def _fields(tasks: Sequence[str], weights: Mapping[str, int], steps: int, target: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"method": "cycle", "options": {"weights": {task: weights.get(task, 0) for task in tasks}}}
    return {**found, "steps": steps, "target": target}
