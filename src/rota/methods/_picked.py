"""Batches with rows of several tasks: drawn, or picked where the model is most unsure (CA-MTL)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rota import policies
from rota.methods._method import Method, Recipe, RunContext
from rota.methods._options import Options

SELECTOR = "mt-uncertainty"


class MixedOptions(Options):
    """Of method mixed."""

    reduction: Literal["task", "row"] = Field(
        "task", description="The loss of a batch: the mean over its tasks of their means, or the mean over its rows."
    )
    power: float = Field(0, ge=-10, le=10, description="A row's task is drawn by this power of its size; 0: uniformly.")


class PickedOptions(Options):
    """Of method mt-uncertainty."""

    score: Literal["code", "paper", "prior"] = Field(
        "code",
        description="As in the released code, which prefers uncertain tasks; as printed in the paper; prior: relative "
        "to the entropy of the task's class shares.",
    )
    regression: str = Field(
        "quantile",
        description="What tasks whose answer is a number do, which have no entropy: quantile, variance, loss, "
        "proxy:TASK.",
    )
    cap: float | None = Field(
        None, ge=1, description="Most rows of one task in a batch, in multiples of an equal share; no limit by default."
    )
    candidates: int | None = Field(None, ge=1, description="Candidate rows per task; the batch size by default.")
    every: int = Field(1, ge=1, description="Number of steps that are picked from one pool of candidates.")
    returned: bool = Field(False, description="Put candidates that are not picked back into the current pass.")
    scoring_dropout: bool = Field(False, description="Score candidates with dropout on, as the released code does.")
    half: bool = Field(False, description="Score candidates in bf16.")
    layer: int | None = Field(None, ge=1, description="Score candidates at this layer instead of the last.")
    reduction: Literal["task", "row"] = Field("task", description=MixedOptions.model_fields["reduction"].description)


def _mixed(options: MixedOptions, context: RunContext) -> Recipe:
    drawn = policies.Tempered(context.sizes, options.power) if options.power else policies.uniform(context.tasks)
    return Recipe(drawn, {"stream": "mixed", "reduction": options.reduction})


def _mt_uncertainty(options: PickedOptions, context: RunContext) -> Recipe:
    own = options.model_dump()
    select = {"name": SELECTOR, **{name: own.pop(name) for name in ("score", "regression", "cap")}}
    return Recipe(policies.uniform(context.tasks), {"stream": "pool", "select": select, **own})


PICKED = [
    Method(
        "mixed",
        "rows of all tasks in every batch",
        _mixed,
        "Pilault et al. 2021 (baseline)",
    ),
    Method(
        "mt-uncertainty",
        "the most uncertain rows among candidates of all tasks",
        _mt_uncertainty,
        "Pilault et al. 2021",
    ),
]
