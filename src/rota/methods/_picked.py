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
    power: float = Field(0, ge=-10, le=10, description="Rows are drawn by this power of their task's number; 0: alike.")


class PickedOptions(Options):
    """Of method mt-uncertainty."""

    score: Literal["code", "paper"] = Field(
        "code", description="As the released code has it, which prefers unsure tasks; or as the paper prints it."
    )
    regression: str = Field(
        "quantile",
        description="What tasks whose answer is a number do, which have no entropy: quantile, variance, loss, "
        "proxy:TASK.",
    )
    cap: float | None = Field(
        None, ge=1, description="At most so many times the rows of an even batch are of one task; by default no limit."
    )
    candidates: int | None = Field(
        None, ge=1, description="Rows of a task in the pool; by default as many as a batch has."
    )
    every: int = Field(1, ge=1, description="Steps that one pool serves.")
    returned: bool = Field(False, description="Candidates that are not picked come once more in the same pass.")
    half: bool = Field(False, description="The model is asked in bf16.")
    layer: int | None = Field(None, ge=1, description="Heads are asked about this layer, and later ones are spared.")
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
        "batches with rows of all tasks, drawn alike or by a power of their number",
        _mixed,
        "002 (its baseline)",
    ),
    Method(
        "mt-uncertainty",
        "of candidates of all tasks, the rows about which the model is most unsure",
        _mt_uncertainty,
        "002 MT-Uncertainty",
    ),
]
