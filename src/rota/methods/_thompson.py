"""AutoSeM's first stage: which tasks do the target good? (Guo, Pasunuru & Bansal)"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rota.methods._method import Method, Recipe, RunContext
from rota.methods._options import options_of
from rota.policies import Hold, Policy, Thompson, WithFloor
from rota.sources import RoundSuccess


class ThompsonOptions(options_of(Thompson, but=("tasks", "primary"))):  # type: ignore[misc]
    """Of the bandit, of its rounds, and of what it takes for a success."""

    round: int = Field(10, ge=1, description="Updates in a round.")
    reward: Literal["ge", "gt", "gain"] = Field(
        "ge",
        description="A round is good if the target's dev score did not fall (ge), if it rose (gt), or by how much it "
        "rose (gain).",
    )
    floor: float = Field(0.0, ge=0, lt=1, description="Share of the rounds that is spread evenly over all tasks.")


def _thompson(options: ThompsonOptions, context: RunContext) -> Recipe:
    bandit: Policy = Thompson(context.tasks, primary=context.target, **options.of(Thompson))
    policy = Hold(WithFloor(bandit, options.floor) if options.floor else bandit, options.round)
    return Recipe(policy, listen=[{"source": RoundSuccess.name, "rule": options.reward}])


THOMPSON = [
    Method(
        "thompson",
        "Thompson sampling of tasks that do not lower the target's score",
        _thompson,
        "Guo et al. 2019 (stage 1)",
        ("target",),
    )
]
