"""Rewards that can be computed again from a log."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Visit:
    """A step on one task, as the log has it.

    Args:
        loss: -log p of the batch before the update, per decision.
        value: What the policy heard; None where it heard nothing.
        previous: The loss of the task's visit before; None for the first one.

    >>> rewards = [improving(Visit(loss, None, previous=0.8)) for loss in (0.5, 0.9)]
    >>> [round(reward, 2) for reward in rewards]
    [0.39, 0.0]
    """

    loss: float
    value: float | None
    previous: float | None


Reward = Callable[[Visit], float | None]
"""What a visit was worth; None: leave the step out."""


def improving(visit: Visit) -> float | None:
    """1 - exp(-L) if the loss L fell since the task's last visit, else 0: large for tasks that are still bad, but get
    better (Glover & Hokamp 2019, eq. 16). The first visit of a task has nothing to be compared with and is left out.

    >>> improving(Visit(loss=math.log(2), value=None, previous=1.0))
    0.5
    """
    if visit.previous is None:
        return None
    return -math.expm1(-visit.loss) if visit.loss < visit.previous else 0.0


def heard(visit: Visit) -> float | None:
    """What the policy heard at that time.

    >>> heard(Visit(loss=0.5, value=0.1, previous=0.8))
    0.1
    """
    return visit.value
