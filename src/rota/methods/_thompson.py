"""AutoSeM's first stage: which tasks do the target good? (Guo, Pasunuru & Bansal)"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from rota.errors import RotaError
from rota.methods._method import Given, Method
from rota.policies import Hold, Policy, Thompson, WithFloor

if TYPE_CHECKING:
    from rota.training import Reward

Positive = Annotated[float, Field(gt=0)]


def _thompson(
    given: Given,
    *,
    round: Annotated[int, Field(ge=1)] = 10,
    decay: Annotated[float, Field(ge=0, le=1)] = 0.05,
    reward: Literal["ge", "gt", "gain"] = "ge",
    prior: tuple[Positive, Positive] = (1.0, 1.0),
    primary_prior: tuple[Positive, Positive] = (2.0, 1.0),
    floor: Annotated[float, Field(ge=0, lt=1)] = 0.0,
) -> Policy:
    if given.target is None:
        raise RotaError(f"Method 'thompson' expects a target. Choose one of {', '.join(given.tasks)}: --target.")
    bandit: Policy = Thompson(given.tasks, decay, prior, given.target, primary_prior)
    return Hold(WithFloor(bandit, floor) if floor else bandit, round)


def _reward(options: Any) -> Reward:
    from rota.training import Reward  # late: it loads torch

    return Reward(options.round, options.reward)


THOMPSON = Method(
    "thompson",
    "tasks after whose rounds the score of --target did not fall",
    _thompson,
    "004 stage 1",
    make_reward=_reward,
    for_target=True,
)
