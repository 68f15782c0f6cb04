"""Active task prioritisation: tasks about which the model is unsure (Fang & Alqatari)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, Field

from rota.methods._method import Given, Method
from rota.policies import Policy, Tracking, WithFloor

if TYPE_CHECKING:
    from rota.training import Survey

ScoreName = Literal["share", "entropy", "expected-entropy", "bald", "batchbald", "released"]


def _active(
    given: Given,
    *,
    score: ScoreName = "entropy",
    every: Annotated[int, Field(ge=1)] = 200,
    passes: Annotated[int, Field(ge=1)] = 8,
    scope: Literal["all", "head"] | Annotated[int, Field(ge=1)] = "all",
    rows: Annotated[int, Field(ge=1)] | None = None,
    gamma: Annotated[float, Field(ge=0, le=1)] = 0.5,
    form: Literal["prose", "printed"] = "prose",
    floor: Annotated[float, Field(ge=0, lt=1)] = 0.25,
    capped: bool = True,
    memory: Annotated[int, Field(ge=1)] = 2**30,
) -> Policy:
    tracking = Tracking(given.tasks, gamma, form)
    return WithFloor(tracking, floor) if floor else tracking


def _survey(options: BaseModel) -> Survey:
    from rota.training import Survey  # late: it loads torch

    names = ("score", "every", "passes", "scope", "rows", "capped", "memory")
    return Survey(**{name: getattr(options, name) for name in names})


ACTIVE = [
    Method(
        "active",
        "tasks about which the model is unsure, by passes with dropout over dev rows",
        _active,
        "000 active",
        make_survey=_survey,
    ),
    Method(
        "active-weights",
        "all tasks in every step, their losses weighted by how unsure the model is",
        _active,
        "after 000 (its outlook)",
        stream="joint",
        make_survey=_survey,
    ),
]
