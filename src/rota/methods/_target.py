"""Methods for one target task: αVIL and DIW, and the plain trainings that they are compared with."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rota import policies
from rota.errors import RotaError
from rota.methods._method import Method, Recipe, RunContext
from rota.methods._options import Options

TUNING = ("steps", "lr", "momentum", "optimizer", "least")


class RoundOptions(Options):
    """Of methods that train in rounds of branches."""

    fraction: float = Field(1.0, gt=0, le=100, description="Share ρ of a task's rows that a branch trains on.")
    memory: Literal["reset", "shared", "own"] = Field(
        "reset",
        description="Optimizer state of a branch: empty (reset), that of the last round (shared), or that of the same "
        "task's last branch (own).",
    )


class AlphaVILOptions(RoundOptions):
    """Of αVIL."""

    lengths: Literal["data", "equal"] = Field(
        "data", description="Branches take the same share of every task's rows, or as many updates as the target's."
    )
    weighting: Literal["alpha", "alignment"] = Field(
        "alpha", description="Weights follow α (the paper), or how well deltas align with the target's gradient."
    )
    scaling: Literal["loss", "delta"] = Field(
        "loss", description="A weight scales its task's loss (the paper; no effect with Adam), or its delta."
    )
    merge: Literal["deltas", "joint", "both"] = Field(
        "deltas",
        description="What a round keeps: the combined deltas (the paper); only the weights, for joint steps from "
        "where it began; or both.",
    )
    alpha_steps: int = Field(10, ge=0, description="Gradient steps on α in each round.")
    alpha_lr: float = Field(0.005, gt=0, description="Learning rate of α.")
    alpha_momentum: float = Field(0.5, ge=0, lt=1, description="Momentum of α.")
    alpha_optimizer: Literal["sgd", "adam", "adamax"] = Field("sgd", description="Optimizer of α.")
    alpha_least: float | None = Field(None, description="Lower bound of α.")
    alpha_batches: int | None = Field(
        None, ge=1, description="Dev batches per gradient step on α; by default all dev rows."
    )
    storage: Literal["full", "bfloat16", "cpu"] = Field("full", description="Where and how deltas are stored.")
    only: tuple[str, ...] | None = Field(
        None, description="Patterns of parameter names whose deltas are combined; all by default."
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

    weight_lr: float = Field(
        0.1,
        gt=0,
        description="Learning rate of the weights; scores are in [0, 1], so a point counts as 0.01.",
    )
    tries: int = Field(
        10, ge=1, description="Attempts that do not beat the round before, after which the best one is kept."
    )


class SingletaskOptions(Options):
    """Of training one task."""

    fraction: float | None = Field(
        None,
        gt=0,
        le=100,
        description="Share ρ of its rows in a round, where rounds are counted; by default all.",
    )


class MultitaskOptions(Options):
    """Of joint training."""

    fraction: float | None = Field(
        None,
        gt=0,
        le=100,
        description="Rounds that take this share ρ of each task's rows, as branches do; by default every step has a "
        "batch of every task, which repeats small ones.",
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


def _singletask(options: SingletaskOptions, context: RunContext) -> Recipe:
    assert context.target is not None, "it needs one"
    return Recipe(policies.uniform([context.target]), _joint(options.fraction, "task"), tasks=[context.target])


def _multitask(options: MultitaskOptions, context: RunContext) -> Recipe:
    return Recipe(policies.uniform(context.tasks), _joint(options.fraction, "joint"), settings={"best": "each"})


def _joint(fraction: float | None, usual: str) -> str | dict[str, object]:
    """Rounds of this share of each task's rows, where one is given."""
    return usual if fraction is None else {"stream": "joint-rounds", "fraction": fraction}


TARGETED = [
    Method(
        "alphavil",
        "a training branch per task, combined by the target's dev loss",
        _alphavil,
        "Kourdis et al. 2024",
        ("target",),
    ),
    Method(
        "alphavil-aligned",
        "alphavil whose weights follow the direction of deltas, not their length",
        _aligned,
        "after Kourdis et al. 2024",
        ("target",),
    ),
    Method(
        "diw",
        "weights by each task's effect on the target (reconstructed)",
        _diw,
        "Kourdis et al. 2024 (baseline)",
        ("target",),
    ),
    Method("singletask", "the target only", _singletask, "Kourdis et al. 2024 (baseline)", ("target",)),
    Method(
        "multitask",
        "all tasks in every step; keeps the best model of each",
        _multitask,
        "Kourdis et al. 2024 (baseline)",
    ),
]
