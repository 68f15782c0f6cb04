"""`auto` plans with learning curves, from training losses alone; `auto-dev` also from dev scores."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rota.methods._method import Method, Recipe, RunContext
from rota.methods._options import options_of
from rota.policies import Auto, AutoDev

GIVEN = ("tasks", "sizes", "references", "kept", "batch_size")
"""What the run says, and nobody has to."""


class AutoOptions(options_of(Auto, but=GIVEN)):  # type: ignore[misc]
    """Of Auto, with or without dev scores."""

    auxiliaries: Literal["keep", "floor"] = Field(
        "keep",
        description="Auxiliary tasks keep their prior share (their own curve does not show what they do for other "
        "tasks), or fall to their floor.",
    )


def _policy(kind: type[Auto], options: AutoOptions, context: RunContext) -> Auto:
    counted = {task.name for task in context.trained if task.counted} or set(context.tasks)
    others = [task for task in context.tasks if task not in counted]
    own = options.of(Auto)
    return kind(
        context.tasks,
        sizes=context.batches,
        batch_size=1,  # sizes are counted in batches: tasks may have batch sizes of their own
        references={task.name: task.kind.trivial_loss(task.splits["train"].labels()) for task in context.trained},
        # With one target there is nothing to divide but between it and the others.
        kept=others if options.auxiliaries == "keep" and len(counted) > 1 else [],
        **{
            **own,
            "horizon": own["horizon"] or context.steps,
            "importance": {task: float(task in counted) for task in context.tasks} | dict(own["importance"] or {}),
        },
    )


def _auto(options: AutoOptions, context: RunContext) -> Recipe:
    return Recipe(_policy(Auto, options, context))


def _auto_dev(options: AutoOptions, context: RunContext) -> Recipe:
    return Recipe(_policy(AutoDev, options, context))


AUTO = [
    Method(
        "auto",
        "plans with learning curves of the training losses",
        _auto,
        "ours",
        ("sizes",),
    ),
    Method(
        "auto-dev",
        "plans with learning curves of the dev scores",
        _auto_dev,
        "ours",
        ("sizes",),
    ),
]
