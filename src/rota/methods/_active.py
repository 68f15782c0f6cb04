"""Active task prioritisation: tasks the model is uncertain about (Fang & Alqatari)."""

from __future__ import annotations

from pydantic import Field

from rota.methods._method import Method, Recipe, RunContext
from rota.methods._options import options_of
from rota.policies import Policy, Tracking, WithFloor
from rota.sources import Survey

OFTEN = 200
"""Steps between surveys in a run that is long enough."""


class ActiveOptions(options_of(Survey, but=("says",)), options_of(Tracking, but=("tasks",))):  # type: ignore[misc]
    """Of the surveys, and of the policy that follows them."""

    every: int | None = Field(
        None, ge=1, description=f"Steps between surveys; by default {OFTEN}, or a twentieth of a shorter run."
    )
    floor: float = Field(0.25, ge=0, lt=1, description="Share of the updates that is spread evenly over all tasks.")


def _recipe(options: ActiveOptions, context: RunContext, stream: str) -> Recipe:
    tracking: Policy = Tracking(context.tasks, **options.of(Tracking))
    policy = WithFloor(tracking, options.floor) if options.floor else tracking
    every = options.every or (OFTEN if context.steps > OFTEN else None)
    return Recipe(policy, stream, [{"source": Survey.name, **options.of(Survey), "every": every}])


def _active(options: ActiveOptions, context: RunContext) -> Recipe:
    return _recipe(options, context, "task")


def _active_weights(options: ActiveOptions, context: RunContext) -> Recipe:
    return _recipe(options, context, "joint")


ACTIVE = [
    Method("active", "tasks the model is uncertain about (MC dropout on dev rows)", _active, "Fang & Alqatari"),
    Method(
        "active-weights",
        "all tasks in every step, losses weighted by uncertainty",
        _active_weights,
        "after Fang & Alqatari",
    ),
]
