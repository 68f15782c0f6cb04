"""What a run says of itself before its first step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rota.training._elastic import told
from rota.training._resolve_sharding import parts_told

if TYPE_CHECKING:
    from rota.training._loop import TrainingLoop


def opening_notices(run: TrainingLoop) -> Iterator[str]:
    """How its data were made, how it is evaluated and executed, and what is other than it was."""
    yield from (f"{task.name}: {task.notes['made']}" for task in run.tasks if "made" in task.notes)
    yield run.evaluations.budget.told()
    if run.was != run.hardware:
        yield told(run.was, run.hardware, run.divided)
    if run.change is not None:
        yield run.change.notice
    if run.not_captured:
        yield f"engine: eager, because {run.not_captured}"
    if run.settings.shard:
        yield parts_told(run.access.model, run.context.shard.world)
    yield from filter(None, (run.stream.notice, run.other_versions))
