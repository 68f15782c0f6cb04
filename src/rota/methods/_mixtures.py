"""Methods that do not learn: mixtures that are known before the first step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pydantic import Field

from rota import policies
from rota.errors import RotaError, unknown_name
from rota.methods._method import Method, Recipe, RunContext
from rota.methods._options import Options
from rota.schedules import annealed_power

Weight = TypeVar("Weight", int, float)


class NoOptions(Options):
    """There is nothing to be told."""


class TemperatureOptions(Options):
    """Of method temperature."""

    power: float = Field(0.5, ge=-10, le=10, description="Exponent of the sizes: 1 is proportional, 0 uniform.")


class AnnealedOptions(Options):
    """Of method annealed."""

    epochs: int = Field(10, ge=1, description="Number of stages; the exponent falls from one to the next.")


class UniMaxOptions(Options):
    """Of method unimax."""

    passes: float = Field(4, gt=0, description="Most passes over the rows of one task in the whole run.")


class WeightOptions(Options):
    """Of methods that are told the weight of every task."""

    weights: dict[str, float] = Field(description="Weight of each task, in any unit; 0 leaves a task out.")


class SteeredOptions(Options):
    """Of method steered."""

    file: str = Field(description="JSON file with the weight of each task, in any unit; 0 leaves a task out.")
    every: int | None = Field(None, ge=1, description="Steps between two looks at the file; at evaluations by default.")


class TurnOptions(Options):
    """Of method cycle."""

    weights: dict[str, int] = Field(description="Batches of each task in a row; 0 leaves a task out.")


class JointOptions(Options):
    """Of method joint."""

    weights: dict[str, float] | None = Field(None, description="Weight of each task's loss; equal by default.")


def _uniform(options: NoOptions, context: RunContext) -> Recipe:
    return Recipe(policies.uniform(context.tasks))


def _proportional(options: NoOptions, context: RunContext) -> Recipe:
    return Recipe(policies.proportional(context.sizes))


def _temperature(options: TemperatureOptions, context: RunContext) -> Recipe:
    return Recipe(policies.Tempered(context.sizes, options.power))


def _annealed(options: AnnealedOptions, context: RunContext) -> Recipe:
    power = annealed_power(options.epochs, max(1, context.steps // options.epochs))
    return Recipe(policies.Tempered(context.sizes, power))


def _unimax(options: UniMaxOptions, context: RunContext) -> Recipe:
    most = {task: options.passes * batches for task, batches in context.batches.items()}
    return Recipe(policies.Fixed(_even_up_to(most, context.steps)))


def _even_up_to(most: Mapping[str, float], steps: float) -> dict[str, float]:
    """The steps dealt out evenly, to no task more than its most; what small tasks cannot take, the others share.

    >>> _even_up_to({"cb": 32, "rte": 312, "sst2": 8400}, steps=900)
    {'cb': 32.0, 'rte': 312.0, 'sst2': 556.0}
    >>> _even_up_to({"cb": 32, "rte": 312, "sst2": 8400}, steps=300)
    {'cb': 32.0, 'rte': 134.0, 'sst2': 134.0}
    """
    dealt, left = dict.fromkeys(most, 0.0), float(steps)
    for place, task in enumerate(sorted(most, key=lambda task: most[task])):
        dealt[task] = min(float(most[task]), left / (len(most) - place))
        left -= dealt[task]
    return dealt


def _union(options: NoOptions, context: RunContext) -> Recipe:
    return Recipe(policies.Union(context.batches))


def _fixed(options: WeightOptions, context: RunContext) -> Recipe:
    return Recipe(policies.Fixed(for_all(context, options.weights)))


def _steered(options: SteeredOptions, context: RunContext) -> Recipe:
    source = {"source": "mixture file", "file": options.file, "every": options.every}
    return Recipe(policies.Steered(context.tasks), listen=[source])


def _cycle(options: TurnOptions, context: RunContext) -> Recipe:
    return Recipe(policies.Cycle(for_all(context, options.weights)))


def _joint(options: JointOptions, context: RunContext) -> Recipe:
    if options.weights is None:
        return Recipe(policies.uniform(context.tasks), "joint")
    return Recipe(policies.Fixed(for_all(context, options.weights)), "joint")


def for_all(context: RunContext, weights: Mapping[str, Weight]) -> dict[str, Weight]:
    """A weight for every task and for no other, in the order of the tasks."""
    for task in weights:
        if task not in context.sizes:
            raise unknown_name("task in the weights", task, context.tasks)
    missing = [task for task in context.tasks if task not in weights]
    if missing:
        raise RotaError(f"Expected a weight for every task. Missing: {', '.join(missing)}. Weight 0 leaves a task out.")
    return {task: weights[task] for task in context.tasks}


MIXTURES = [
    Method("uniform", "every task equally often", _uniform, "Glover & Hokamp 2019 (RANDOM)"),
    Method(
        "proportional",
        "tasks in proportion to their number of rows",
        _proportional,
        "Glover & Hokamp 2019 (TASK SIZE)",
        ("sizes",),
    ),
    Method("union", "every batch of every task once per epoch", _union, "MT-DNN (Liu et al. 2019)", ("sizes",)),
    Method(
        "temperature",
        "tasks by a power of their size; size^0.5 by default",
        _temperature,
        "T5 (Raffel et al. 2020)",
        ("sizes",),
    ),
    Method("annealed", "starts proportional, ends nearly uniform", _annealed, "Stickland & Murray 2019", ("sizes",)),
    Method(
        "unimax", "equal shares, but at most a few passes over any data set", _unimax, "Chung et al. 2023", ("sizes",)
    ),
    Method("fixed", "the weights you give", _fixed),
    Method("steered", "the weights in a file that may be replaced during the run", _steered),
    Method("cycle", "round robin in an exact ratio", _cycle, "Guo et al. 2019 (mixing ratio)"),
    Method("joint", "a batch of every task in every step, losses weighted", _joint, "Kourdis et al. 2024 (baseline)"),
]
