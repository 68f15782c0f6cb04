"""What a run would need and roughly cost, where something of it is not here, so that no update can be timed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from rota.budgets import UPDATES, read_budget
from rota.data import task_names, tasks_elsewhere
from rota.methods import METHODS, Recipe, RunContext
from rota.plans import Plan, make_plan, reading_of
from rota.pretrained import encoder_in, is_here, layers_and_width
from rota.runs._named_streams import STREAMS
from rota.streams import StepKind, expected_updates

USUAL_ROWS = 1000
"""Of a task: the number changes no cost, since a plan has its updates."""
BACKWARD = 2
"""Forward passes that a backward pass costs."""
SIDE, TRIALS = 1024, 8
"""Of the matrices by which the speed of a machine is measured."""


@dataclass(frozen=True)
class Missing:
    """What is neither in a folder nor was fetched from the hub before.

    Args:
        encoders: Their names on the hub.
        tasks: Names, with the place that has them.

    >>> bool(Missing())
    False
    """

    encoders: tuple[str, ...] = ()
    tasks: Mapping[str, str] | None = None

    def __bool__(self) -> bool:
        return bool(self.encoders or self.tasks)


@dataclass(frozen=True)
class RoughCost:
    """A rough cost, with all that the method trains before its own run, without evaluations.

    Args:
        updates: Of all these trainings.
        forwards: Forward passes of one row; a backward pass counts as two.
        seconds: That the matrix products of the encoder take, for texts of the most tokens; None where its size is not
            known.

    >>> RoughCost(updates=100, forwards=9_600, seconds=None).forwards
    9600
    """

    updates: int
    forwards: float
    seconds: float | None


def missing_of(plans: Iterable[Plan]) -> Missing:
    """What of these plans is not here. Nothing is fetched.

    >>> bool(missing_of([make_plan({"tasks": ["digits"]})]))
    False
    """
    encoders: dict[str, None] = {}
    tasks: dict[str, str] = {}
    for plan in {(plan.tasks, plan.data, plan.model): plan for plan in plans}.values():
        tasks |= tasks_elsewhere(plan.tasks, reading_of(plan))
        name = encoder_in(plan.model)
        if name is not None and not is_here(name):
            encoders[name] = None
    return Missing(tuple(encoders), tasks)


def rough_cost(plan: Plan, speed: float) -> RoughCost:
    """What a run of this plan would roughly cost.

    Args:
        plan: Of any method.
        speed: Of the machine, see `operations_per_second`.

    >>> plan = make_plan({"tasks": ["rte", "mrpc"], "model": "bert-base-cased", "method": "uniform", "steps": 100})
    >>> found = rough_cost(plan, speed=1e12)
    >>> found.updates, found.forwards, round(found.seconds)
    (100, 9600.0, 209)
    """
    names = [name for name in task_names(plan.tasks) if not plan.only or name in plan.only]
    even = dict.fromkeys(names, USUAL_ROWS)
    context = RunContext(even, even, plan.steps, plan.seed, plan.target)
    stages, recipe = METHODS[plan.method].foresee(plan.options, context)
    taking_part = [task for task in names if recipe.tasks is None or task in recipe.tasks]
    steps = _steps(plan, recipe, taking_part)
    forwards = steps * _forwards(plan, recipe, len(taking_part))
    encoder, seconds = encoder_in(plan.model), None
    size = None if encoder is None else layers_and_width(encoder)
    if size is not None:
        layers, width = size
        # Each layer has 12 d² weights, and a weight is a product and a sum.
        seconds = forwards * 2 * 12 * layers * width**2 * plan.longest / speed
    own = RoughCost(steps, forwards, seconds)
    common = {**plan.model_dump(exclude_unset=True, exclude={"observe"}), "budget": UPDATES}
    for stage in stages:
        inner = rough_cost(make_plan({**common, **stage.changes}), speed)
        own = RoughCost(
            own.updates + stage.runs * inner.updates,
            own.forwards + stage.runs * inner.forwards,
            None if own.seconds is None or inner.seconds is None else own.seconds + stage.runs * inner.seconds,
        )
    return own


def _steps(plan: Plan, recipe: Recipe, tasks: Sequence[str]) -> int:
    """The updates of a run: as asked for, or what its budget about comes to with the usual rows."""
    budget = read_budget(plan.budget)
    if budget is None:
        return plan.steps
    shape: StepKind = getattr(STREAMS[str(_about(recipe)["stream"])], "shape", "turns")
    sizes = dict.fromkeys(tasks, USUAL_ROWS)
    batches = dict.fromkeys(tasks, -(-USUAL_ROWS // (plan.batch_size * plan.accumulate)))
    return expected_updates(budget, sizes, batches, plan.target, shape)


def _about(recipe: Recipe) -> Mapping[str, Any]:
    return {"stream": recipe.stream} if isinstance(recipe.stream, str) else recipe.stream


def operations_per_second() -> float:
    """Of this machine now: products and sums in the product of two matrices, in half precision on a GPU.

    >>> operations_per_second() > 1e6
    True
    """
    device = torch.accelerator.current_accelerator() or torch.device("cpu")
    kind = torch.float32 if device.type == "cpu" else torch.bfloat16
    one = torch.ones(SIDE, SIDE, device=device, dtype=kind)
    fastest = min(_seconds(one) for _ in range(TRIALS))
    return 2 * float(SIDE) ** 3 / fastest


def _seconds(one: torch.Tensor) -> float:
    began = time.perf_counter()
    (one @ one)[0, 0].item()  # which waits for the device
    return time.perf_counter() - began


def _forwards(plan: Plan, recipe: Recipe, tasks: int) -> float:
    """Of one row, in an update."""
    about = _about(recipe)
    rows = plan.batch_size * plan.accumulate
    trained = float(rows * (1 + BACKWARD) * (tasks if about["stream"] in ("joint", "joint-rounds") else 1))
    if about["stream"] != "pool":
        return trained
    return trained + tasks * float(about.get("candidates") or rows) / int(about.get("every", 1))
