"""What one training step is made of."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rota.arrays import Ids
from rota.feedback import Choice
from rota.tasks import Batch


@dataclass(frozen=True)
class TaskBatch:
    """One task's share of a step.

    Args:
        task: The task.
        ids: Row numbers of the whole batch, over all processes.
        counted: How many of this process's rows count (the others are padding).
        fetch: Makes the batch of this process's rows; to be called once at most.
        weight: Share of this task in the loss of the step.
    """

    task: str
    ids: Ids
    counted: int
    fetch: Callable[[], Batch]
    weight: float = 1.0

    @functools.cached_property
    def batch(self) -> Batch:
        """This process's rows."""
        return self.fetch()


@dataclass(frozen=True)
class StepPlan:
    """What is trained on in one step; `choice` is None where nobody was chosen. `pool` says of each task how many
    candidates there were and how many were picked, where there was a pool. `scheduled` is the step whose learning rate
    holds, where it is not its own."""

    step: int
    parts: tuple[TaskBatch, ...]
    choice: Choice | None = None
    pool: Mapping[str, Any] | None = None
    scheduled: int | None = None
