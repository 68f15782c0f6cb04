"""Methods that do not learn: mixtures that are known before the first step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeVar

from pydantic import Field

from rota import policies
from rota.errors import RotaError, unknown_name
from rota.methods._method import Given, Method
from rota.policies import Policy
from rota.schedules import annealed_power

Weight = TypeVar("Weight", int, float)


def _uniform(given: Given) -> Policy:
    return policies.uniform(given.tasks)


def _proportional(given: Given) -> Policy:
    return policies.proportional(given.sizes)


def _temperature(given: Given, *, power: Annotated[float, Field(ge=-10, le=10)] = 0.5) -> Policy:
    return policies.Tempered(given.sizes, power)


def _annealed(given: Given, *, epochs: Annotated[int, Field(ge=1)] = 10) -> Policy:
    return policies.Tempered(given.sizes, annealed_power(epochs, max(1, given.steps // epochs)))


def _union(given: Given) -> Policy:
    return policies.Union(given.batches)


def _fixed(given: Given, *, weights: dict[str, float]) -> Policy:
    return policies.Fixed(_for_all(given, weights))


def _cycle(given: Given, *, weights: dict[str, int]) -> Policy:
    return policies.Cycle(_for_all(given, weights))


def _joint(given: Given, *, weights: dict[str, float] | None = None) -> Policy:
    return policies.uniform(given.tasks) if weights is None else policies.Fixed(_for_all(given, weights))


def _for_all(given: Given, weights: Mapping[str, Weight]) -> dict[str, Weight]:
    """A weight for every task and for no other, in the order of the tasks."""
    for task in weights:
        if task not in given.sizes:
            raise unknown_name("task in the weights", task, given.tasks)
    missing = [task for task in given.tasks if task not in weights]
    if missing:
        raise RotaError(f"Expected a weight for every task. Missing: {', '.join(missing)}. Weight 0 leaves a task out.")
    return {task: weights[task] for task in given.tasks}


MIXTURES = [
    Method("uniform", "every task alike", _uniform, "001 RANDOM, 000 uniform"),
    Method("proportional", "tasks by their number of rows", _proportional, "001 TASK SIZE", sized=True),
    Method("union", "every batch of every task once per epoch", _union, "000 union; MT-DNN", sized=True),
    Method("temperature", "tasks by a power of their number of rows", _temperature, "T5, mBERT", sized=True),
    Method("annealed", "from proportional to nearly uniform", _annealed, "PALs", sized=True),
    Method("fixed", "the weights that you give", _fixed),
    Method("cycle", "tasks by turn, as many batches as the weights say", _cycle, "004 mixing ratio"),
    Method("joint", "all tasks in every step, their losses weighted", _joint, "003 multitask", stream="joint"),
]
