"""`auto` plans with learning curves, from training losses alone; `auto-dev` also from dev scores."""

from __future__ import annotations

import functools
from typing import Annotated, Literal

from pydantic import Field

from rota.methods._method import Given, Method
from rota.policies import Auto, AutoDev, Policy

Share = Annotated[float, Field(ge=0, le=1)]
Passes = Annotated[float, Field(gt=0)]


def _auto(
    kind: type[Auto],
    given: Given,
    *,
    objective: Literal["average", "nobody-worse"] = "average",
    prior: Literal["mixed", "sqrt", "uniform"] = "mixed",
    horizon: Annotated[int, Field(ge=1)] | None = None,
    importance: dict[str, float] | None = None,
    auxiliaries: Literal["keep", "floor"] = "keep",
    guard: Literal["measured", "always", "never"] = "measured",
    score: Literal["skill", "likelihood"] = "skill",
    warm: Share = 0.1,
    every: Annotated[int, Field(ge=1)] | None = None,
    floor: Share = 0.5,
    blend: Share = 0.2,
    past: Share = 0.5,
    patience: Share = 0.5,
    fresh: Passes = 2.0,
    free: Passes = 1.0,
    decay: Passes = 2.0,
    lift: Annotated[float, Field(ge=0)] = 2.0,
) -> Policy:
    counted = {task.name for task in given.trained if task.counted} or set(given.tasks)
    others = [task for task in given.tasks if task not in counted]
    # With one target there is nothing to divide but between it and the others.
    kept = others if auxiliaries == "keep" and len(counted) > 1 else []
    weights = {task: float(task in counted) for task in given.tasks} | (importance or {})
    references = {task.name: task.kind.trivial_loss(task.splits["train"].labels()) for task in given.trained}
    return kind(
        given.tasks,
        horizon or given.steps,
        given.batches,
        prior,
        references,
        weights,
        kept,
        objective,
        score,
        warm,
        every,
        floor,
        blend,
        past,
        patience,
        guard,
        fresh,
        free,
        decay,
        lift,
        batch_size=1,  # sizes are counted in batches: tasks may have batch sizes of their own
    )


AUTO = Method(
    "auto",
    "plans with learning curves: what is left of the budget goes where they promise most",
    functools.partial(_auto, Auto),
    "ours",
    "training_loss",
    sized=True,
)
AUTO_DEV = Method(
    "auto-dev",
    "the same with the learning curves of dev scores, as soon as there are enough of them",
    functools.partial(_auto, AutoDev),
    "ours",
    "training_loss",
    sized=True,
    tell_scores=True,
)
