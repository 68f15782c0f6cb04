"""Methods for one target task: αVIL and DIW, and the plain trainings that they are compared with."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rota import policies
from rota.errors import RotaError
from rota.methods._method import Method, Recipe, RunContext
from rota.methods._mixtures import NoOptions
from rota.methods._options import Options

TUNING = ("steps", "lr", "momentum", "optimizer", "least")


class RoundOptions(Options):
    """Of methods that train in rounds of branches."""

    fraction: float = Field(1.0, gt=0, le=100, description="Share of each task's rows that a branch trains on, ρ.")
    memory: Literal["reset", "shared", "own"] = Field(
        "reset",
        description="What the optimizer of a branch remembers: nothing, what it knew at the end of the last round, or "
        "what this branch knew at the end of its own last one.",
    )


class AlphaVILOptions(RoundOptions):
    """Of αVIL."""

    lengths: Literal["data", "equal"] = Field(
        "data", description="Branches take the same share of every task's rows, or as many updates as the target's."
    )
    weighting: Literal["alpha", "alignment"] = Field(
        "alpha", description="Weights follow α (the paper), or how far deltas point down the target's dev loss."
    )
    scaling: Literal["loss", "delta"] = Field(
        "loss", description="A weight scales its task's loss (the paper; inert with Adam and its like), or its delta."
    )
    merge: Literal["deltas", "joint", "both"] = Field(
        "deltas",
        description="A round leaves the mixture of its deltas (the paper); the weights alone, for joint steps from "
        "where it began; or both.",
    )
    alpha_steps: int = Field(10, ge=0, description="Steps in which α is tuned.")
    alpha_lr: float = Field(0.005, gt=0, description="Learning rate of α.")
    alpha_momentum: float = Field(0.5, ge=0, lt=1, description="Momentum of α.")
    alpha_optimizer: Literal["sgd", "adam", "adamax"] = Field("sgd", description="How α is tuned.")
    alpha_least: float | None = Field(None, description="What α does not fall below.")
    alpha_batches: int | None = Field(
        None, ge=1, description="Batches of dev rows that a gradient of α is computed of; by default all rows."
    )
    storage: Literal["full", "bfloat16", "cpu"] = Field("full", description="How deltas are kept.")
    only: tuple[str, ...] | None = Field(
        None, description="Deltas of parameters whose names begin so; by default of all."
    )


class AlignedOptions(AlphaVILOptions):
    """Of αVIL whose weights follow directions."""

    memory: Literal["reset", "shared", "own"] = Field(
        "own", description=AlphaVILOptions.model_fields["memory"].description
    )
    weighting: Literal["alpha", "alignment"] = Field(
        "alignment", description=AlphaVILOptions.model_fields["weighting"].description
    )


class DIWOptions(RoundOptions):
    """Of DIW."""

    weight_lr: float = Field(0.1, gt=0, description="Learning rate of the weights.")
    tries: int = Field(
        10, ge=1, description="Joint tries in a row that are no better than the round's best, after which that is kept."
    )


def _alphavil(options: AlphaVILOptions, context: RunContext) -> Recipe:
    own = options.model_dump()
    alpha = {name: own.pop(f"alpha_{name}") for name in TUNING}
    return _in_rounds(context, "alphavil", alpha=alpha, target_batches=own.pop("alpha_batches"), **own)


def _aligned(options: AlignedOptions, context: RunContext) -> Recipe:
    return _alphavil(options, context)


def _diw(options: DIWOptions, context: RunContext) -> Recipe:
    return _in_rounds(
        context,
        "diw",
        fraction=options.fraction,
        memory=options.memory,
        lr=options.weight_lr,
        patience=options.tries,
    )


def _in_rounds(context: RunContext, trial: str, **options: object) -> Recipe:
    if len(context.tasks) < 2:
        raise RotaError(
            f"Method '{trial}' expects other tasks beside the target. Found {', '.join(context.tasks)} alone. Add "
            f"some, or train it by Plan(method='singletask')."
        )
    # The policy says whose rows there are; the rounds decide whose turn it is.
    return Recipe(policies.uniform(context.tasks), {"stream": "rounds", "trial": trial, **options})


def _singletask(options: NoOptions, context: RunContext) -> Recipe:
    assert context.target is not None, "it needs one"
    return Recipe(policies.uniform([context.target]), tasks=[context.target])


def _multitask(options: NoOptions, context: RunContext) -> Recipe:
    return Recipe(policies.uniform(context.tasks), "joint", settings={"best": "each"})


TARGETED = [
    Method("alphavil", "branches of all tasks, mixed for the good of the target", _alphavil, "003 αVIL", ("target",)),
    Method(
        "alphavil-aligned",
        "alphavil whose weights follow the direction of deltas, not their length",
        _aligned,
        "after 003",
        ("target",),
    ),
    Method("diw", "weights by what each task does for the target (reconstructed)", _diw, "003 DIW", ("target",)),
    Method("singletask", "the rows of the target alone", _singletask, "003 singletask", ("target",)),
    Method("multitask", "all tasks in every step; best model of each", _multitask, "003"),
]
