"""Active task prioritisation: tasks the model is uncertain about (Fang & Alqatari)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rota.methods._method import Method, Recipe, RunContext
from rota.methods._options import options_of
from rota.methods._presets import preset
from rota.policies import Policy, Tracking, Union, WithFloor, WithStart
from rota.sources import MEASUREMENTS, Survey

OFTEN = 200
"""Steps between surveys in a run that is long enough."""


class WeightsOptions(options_of(Survey, but=("says",)), options_of(Tracking, but=("tasks",))):  # type: ignore[misc]
    """Of the surveys, and of the policy that follows them."""

    every: int | None = Field(
        None, ge=1, description=f"Steps between surveys; by default {OFTEN}, or a twentieth of a shorter run."
    )
    floor: float = Field(0.25, ge=0, lt=1, description="Share of the updates that is spread evenly over all tasks.")


class ActiveOptions(WeightsOptions):
    """Of method active."""

    first: Literal["uniform", "union"] = Field(
        "uniform",
        description="How tasks are drawn until the first survey: equally often, or every batch of every task once.",
    )


def _policy(options: WeightsOptions, context: RunContext) -> Policy:
    tracking = Tracking(context.tasks, **options.of(Tracking))
    return WithFloor(tracking, options.floor) if options.floor else tracking


def _recipe(options: WeightsOptions, policy: Policy, stream: str, every: int) -> Recipe:
    return Recipe(policy, stream, [{"source": Survey.name, **options.of(Survey), "every": every}])


def _every(options: WeightsOptions, context: RunContext) -> int:
    return options.every or (OFTEN if context.steps > OFTEN else max(1, context.steps // MEASUREMENTS))


def _active(options: ActiveOptions, context: RunContext) -> Recipe:
    policy, every = _policy(options, context), _every(options, context)
    if options.first == "union":
        policy = WithStart(policy, Union(context.batches), every)
    return _recipe(options, policy, "task", every)


def _active_weights(options: WeightsOptions, context: RunContext) -> Recipe:
    return _recipe(options, _policy(options, context), "joint", _every(options, context))


OWN = Method("active", "tasks the model is uncertain about (MC dropout on dev rows)", _active, "Fang & Alqatari")
ACTIVE = [
    OWN,
    preset(
        OWN,
        "active@paper",
        "active as printed: joint information of mini-batches of dev rows, no floor, no cap",
        "Fang & Alqatari, section 3",
        {"score": "joint", "passes": 8, "gamma": 0.5, "form": "printed", "capped": False, "floor": 0.0},
    ),
    preset(
        OWN,
        "active@released",
        "active as in the released code: its score, dropout in heads only, union sampling at first",
        "Fang & Alqatari, released code",
        {
            **{"score": "released", "scope": "head", "passes": 8, "gamma": 0.5, "form": "prose"},
            **{"capped": False, "floor": 0.0, "first": "union"},
        },
    ),
    Method(
        "active-weights",
        "all tasks in every step, losses weighted by uncertainty",
        _active_weights,
        "after Fang & Alqatari",
    ),
]
