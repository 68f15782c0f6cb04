"""Batches with rows of several tasks: drawn, or picked where the model is most unsure (CA-MTL)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from rota import policies
from rota.methods._method import Given, Method
from rota.policies import Policy

Reduction = Literal["task", "row"]


def _mixed(given: Given, *, reduction: Reduction = "task", power: Annotated[float, Field(ge=-10, le=10)] = 0) -> Policy:
    return policies.Tempered(given.sizes, power) if power else policies.uniform(given.tasks)


def _mt_uncertainty(
    given: Given,
    *,
    score: Literal["code", "paper"] = "code",
    regression: str = "quantile",
    cap: Annotated[float, Field(ge=1)] | None = None,
    candidates: Annotated[int, Field(ge=1)] | None = None,
    every: Annotated[int, Field(ge=1)] = 1,
    returned: bool = False,
    half: bool = False,
    layer: Annotated[int, Field(ge=1)] | None = None,
    reduction: Reduction = "task",
) -> Policy:
    return policies.uniform(given.tasks)


def _picks(options: BaseModel) -> Mapping[str, Any]:
    from rota.streams import MTUncertainty  # late: it loads torch

    own = options.model_dump()
    select = MTUncertainty(own.pop("score"), own.pop("regression"), own.pop("cap"))
    return {"select": select, **own}


def _reduction(options: BaseModel) -> Mapping[str, Any]:
    return {"reduction": options.model_dump()["reduction"]}


PICKED = [
    Method(
        "mixed",
        "batches with rows of all tasks, drawn alike or by a power of their number",
        _mixed,
        "002 (its baseline)",
        stream="mixed",
        make_picking=_reduction,
    ),
    Method(
        "mt-uncertainty",
        "of candidates of all tasks, the rows about which the model is most unsure",
        _mt_uncertainty,
        "002 MT-Uncertainty",
        stream="pool",
        make_picking=_picks,
    ),
]
