"""What one training step is made of, and what it brings."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rota.arrays import Ids
from rota.engine._members import wait_for
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
        tokens: Of all these rows, those whose loss is trained; None where rows are not counted in tokens.
        span: Where these rows stand among those of all passes, if that says which they are (`Queue.span`).

    >>> import numpy as np
    >>> fetched = []
    >>> part = TaskBatch("rte", np.array([4, 1]), 2, lambda: fetched.append("now") or Batch({}, torch.zeros(2)))
    >>> len(fetched), part.batch is part.batch, len(fetched)  # when it is first needed, and once
    (0, True, 1)
    """

    task: str
    ids: Ids
    counted: int
    fetch: Callable[[], Batch]
    weight: float = 1.0
    span: tuple[int, int] | None = None
    tokens: int | None = None

    @functools.cached_property
    def batch(self) -> Batch:
        """This process's rows."""
        return self.fetch()


@dataclass(frozen=True)
class StepPlan:
    """What is trained on in one step; `choice` is None where nobody was chosen. `pool` says of each task how many
    candidates there were and how many were picked, where there was a pool. `scheduled` is the step whose learning rate
    holds, where it is not its own.

    >>> from rota.data import load_tasks
    >>> from rota.policies import uniform
    >>> from rota.streams import JointStream
    >>> tasks = load_tasks(["digits"])[:2]
    >>> plan = JointStream(tasks, uniform([task.name for task in tasks]), batch_size=4).next(step=0)
    >>> plan.choice, [(part.task, len(part.ids), part.weight) for part in plan.parts]
    (None, [('left', 4, 0.5), ('right', 4, 0.5)])
    """

    step: int
    parts: tuple[TaskBatch, ...]
    choice: Choice | None = None
    pool: Mapping[str, Any] | None = None
    scheduled: int | None = None


class AsyncScalars:
    """Numbers that are on their way from the device. Sending them does not wait for anything, reading them waits for
    no more than the work before them: what was started later goes on.

    Args:
        numbers: On the device; they may be overwritten as soon as they are sent.
        chosen: Which of them are meant, in this order; all of them for None.

    >>> AsyncScalars(torch.tensor([0.5, 0.25])).tolist()
    [0.5, 0.25]
    """

    def __init__(self, numbers: Tensor, chosen: Sequence[int] | None = None) -> None:
        self._chosen = chosen
        self._arrived: torch.cuda.Event | None = None
        if numbers.is_cuda:
            self._numbers = numbers.to("cpu", non_blocking=True)  # into pinned memory
            self._arrived = torch.cuda.Event()
            self._arrived.record()
        else:
            self._numbers = numbers.clone()

    def each(self) -> list[AsyncScalars]:
        """Every one of them by itself; they are sent together.

        >>> [own.tolist() for own in AsyncScalars(torch.tensor([0.5, 0.25])).each()]
        [[0.5], [0.25]]
        """
        found = []
        for k in range(len(self._numbers)) if self._chosen is None else self._chosen:
            own = copy.copy(self)
            own._chosen = [k]
            found.append(own)
        return found

    def tolist(self) -> list[float]:
        if self._arrived is not None:
            wait_for(self._arrived)
        numbers: list[float] = self._numbers.tolist()
        return numbers if self._chosen is None else [numbers[k] for k in self._chosen]


@dataclass(frozen=True)
class Outcome:
    """What a step brought.

    Args:
        numbers: Still on their way. One for each part of the turn: its mean loss before the update, over the rows of
            all processes. Behind them, if asked for, what was measured after the update of each part.
        skipped: The loss was not a number and the model was left as it was.

    >>> outcome = Outcome(AsyncScalars(torch.tensor([0.5, 0.25])))  # losses of two tasks
    >>> outcome.numbers.tolist(), outcome.skipped
    ([0.5, 0.25], False)
    """

    numbers: AsyncScalars
    skipped: bool = False


def at_least_float(outputs: Tensor) -> Tensor:
    """Half precision is for the model; losses are computed in full.

    >>> at_least_float(torch.zeros(1, dtype=torch.bfloat16)).dtype
    torch.float32
    """
    return outputs.float() if outputs.dtype in (torch.float16, torch.bfloat16) else outputs
