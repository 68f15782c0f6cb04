"""The prior of a method, by name or by weights, and the anchor that keeps a policy near it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rota.methods._method import RunContext
from rota.methods._mixtures import for_all
from rota.methods._options import Options
from rota.policies import Anchored, Policy

POWERS = {"uniform": 0.0, "sqrt": 0.5, "proportional": 1.0}
"""Of the number of rows."""
PriorName = Literal["uniform", "sqrt", "proportional"]
SaidPrior = PriorName | dict[str, float] | None


class AnchorOptions(Options):
    """Of methods that can be kept near a mixture."""

    anchor: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Weight w of a prior μ in what is drawn from: π ∝ μ^w p^(1 − w), where p is what the method wants.",
    )
    anchor_prior: PriorName | dict[str, float] = Field(
        "sqrt", description="That prior: sqrt, proportional or uniform by the number of rows, or weights."
    )


def prior_of(said: SaidPrior, context: RunContext) -> dict[str, float] | None:
    """The weight of each task; None where none was asked for.

    >>> prior_of("sqrt", RunContext({"rte": 100, "sst2": 900}, {"rte": 4, "sst2": 29}, steps=50, seed=0))
    {'rte': 10.0, 'sst2': 30.0}
    """
    if said is None:
        return None
    if isinstance(said, dict):
        return for_all(context, said)
    return {task: float(size) ** POWERS[said] for task, size in context.sizes.items()}


def anchored(policy: Policy, options: AnchorOptions, context: RunContext) -> Policy:
    """The policy, near a prior if that was asked for."""
    return Anchored(policy, prior_of(options.anchor_prior, context), options.anchor) if options.anchor else policy
