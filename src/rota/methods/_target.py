"""Methods for one target task: αVIL and DIW, and the plain trainings that they are compared with."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field

from rota import policies
from rota.methods._method import Given, Method
from rota.policies import Policy

if TYPE_CHECKING:
    from rota.training import Trials

Share = Annotated[float, Field(gt=0, le=100)]
Memory = Literal["reset", "shared", "own"]


def _alphavil(
    given: Given,
    *,
    fraction: Share = 1.0,
    lengths: Literal["data", "equal"] = "data",
    memory: Memory = "reset",
    weighting: Literal["alpha", "alignment"] = "alpha",
    scaling: Literal["loss", "delta"] = "loss",
    merge: Literal["deltas", "joint", "both"] = "deltas",
    alpha_steps: Annotated[int, Field(ge=0)] = 10,
    alpha_lr: Annotated[float, Field(gt=0)] = 0.005,
    alpha_momentum: Annotated[float, Field(ge=0, lt=1)] = 0.5,
    alpha_optimizer: Literal["sgd", "adam", "adamax"] = "sgd",
    alpha_least: float | None = None,
    alpha_batches: Annotated[int, Field(ge=1)] | None = None,
    storage: Literal["full", "bfloat16", "cpu"] = "full",
    only: tuple[str, ...] | None = None,
) -> Policy:
    return policies.uniform(given.tasks)  # says whose rows there are; the rounds decide whose turn it is


def _alphavil_trial(options: BaseModel) -> Trials:
    from rota.trials import AlphaSettings, AlphaVIL  # late: it loads torch

    given = {name: getattr(options, name) for name in type(options).model_fields}
    alpha = AlphaSettings(
        **{name: given.pop(f"alpha_{name}") for name in ("steps", "lr", "momentum", "optimizer", "least")}
    )
    return functools.partial(AlphaVIL, alpha=alpha, target_batches=given.pop("alpha_batches"), **given)


def _diw(
    given: Given,
    *,
    fraction: Share = 1.0,
    memory: Memory = "reset",
    weight_lr: Annotated[float, Field(gt=0)] = 0.1,
    tries: Annotated[int, Field(ge=1)] = 10,
) -> Policy:
    return policies.uniform(given.tasks)


def _diw_trial(options: Any) -> Trials:
    from rota.trials import DIW  # late: it loads torch

    return functools.partial(
        DIW, fraction=options.fraction, memory=options.memory, lr=options.weight_lr, patience=options.tries
    )


def _all_tasks(given: Given) -> Policy:
    return policies.uniform(given.tasks)


TARGETED = [
    Method(
        "alphavil",
        "branches of all tasks, mixed for the good of --target",
        _alphavil,
        "003 αVIL",
        for_target=True,
        make_trial=_alphavil_trial,
    ),
    Method(
        "alphavil-aligned",
        "alphavil whose weights follow the direction of deltas, not their length",
        functools.partial(_alphavil, weighting="alignment", memory="own"),
        "after 003",
        for_target=True,
        make_trial=_alphavil_trial,
    ),
    Method(
        "diw",
        "weights by what each task does for --target (reconstructed)",
        _diw,
        "003 DIW",
        for_target=True,
        make_trial=_diw_trial,
    ),
    Method(
        "singletask",
        "the rows of --target alone",
        _all_tasks,
        "003 singletask",
        for_target=True,
        target_only=True,
    ),
    Method("multitask", "all tasks in every step; best model of each", _all_tasks, "003", stream="joint", best="each"),
]
