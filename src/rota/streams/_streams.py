"""Turn a policy into batches."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rota.errors import RotaError
from rota.feedback import Choice
from rota.policies import Policy
from rota.seeds import generator
from rota.streams._loader import Loader, Shard
from rota.streams._queue import Queue
from rota.tasks import Batch, Ids, Task


@dataclass(frozen=True)
class Part:
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
class Turn:
    """What is trained on in one step; `choice` is None where nobody was chosen. `pool` says of each task how many
    candidates there were and how many were picked, where there was a pool. `scheduled` is the step whose learning rate
    holds, where it is not its own."""

    step: int
    parts: tuple[Part, ...]
    choice: Choice | None = None
    pool: Mapping[str, Any] | None = None
    scheduled: int | None = None

    @property
    def clock(self) -> int:
        """The step whose learning rate holds."""
        return self.step if self.scheduled is None else self.scheduled


def rows_per_step(tasks: Sequence[Task], batch_size: int, passes: int = 1) -> dict[str, int]:
    """Rows of each task in a step: its own batch size or the given one, times the forward passes of all processes."""
    return {task.name: (task.batch_size or batch_size) * passes for task in tasks}


def batches_per_pass(sizes: Mapping[str, int], rows: Mapping[str, int]) -> dict[str, int]:
    """Batches that each task has in one pass over its rows, with so many rows in a step.

    >>> batches_per_pass({"rte": 65, "mrpc": 64}, {"rte": 32, "mrpc": 16})
    {'rte': 3, 'mrpc': 4}
    """
    return {task: math.ceil(size / rows[task]) for task, size in sizes.items()}


def refuse_counting(policy: Policy, stream: str) -> None:
    """Refuse a policy that counts its own draws, where nothing is drawn."""
    if policy.counts_draws:
        raise RotaError(
            f"{stream} expects a policy that does not count its own draws. Found {type(policy).__name__}. Use it with "
            f"TaskStream, or give a mixture (Fixed, Tempered, Exp3S); leave --per-task stop_after out."
        )


class Stream(ABC):
    """Batches of several tasks, as a policy wants them.

    Args:
        tasks: Where the rows come from.
        policy: Over the same tasks.
        batch_size: Rows per step, over all processes: one number, or one for each task.
        seed: Of the draws and of the order of the rows.
        shard: Which part of each batch this process works on.
        workers: Processes per task that fetch batches ahead; 0 fetches in the training process.
        group_lengths: Whether rows of similar length come together, where rows have lengths.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        policy: Policy,
        batch_size: int | Mapping[str, int],
        seed: int = 0,
        shard: Shard = Shard(),  # noqa: B008 - immutable
        workers: int = 0,
        group_lengths: bool = False,
    ) -> None:
        names = [task.name for task in tasks]
        if set(names) != set(policy.tasks):
            raise RotaError(
                f"A stream expects a policy over its own tasks {', '.join(sorted(names))}. "
                f"Found one over {', '.join(sorted(policy.tasks))}."
            )
        self.policy = policy
        self._rng = generator(seed, "choice")
        self._loss_weights = {task.name: task.loss_weight for task in tasks}
        rows = rows_per_step(tasks, batch_size) if isinstance(batch_size, int) else batch_size
        self._queues = {
            task.name: Queue(
                task.name,
                task.size(),
                rows[task.name],
                seed,
                task.splits["train"].lengths() if group_lengths else None,
            )
            for task in tasks
        }
        self._loaders = {
            task.name: Loader(task.splits["train"], self._queues[task.name], shard, workers) for task in tasks
        }

    @abstractmethod
    def next(self, step: int) -> Turn:
        """What to train on at `step`."""

    def describe(self) -> dict[str, Any]:
        """Its own options, as plain JSON."""
        return {}

    def _part(self, task: str, weight: float = 1.0) -> Part:
        ids, counted, fetch = self._loaders[task].next()
        return Part(task, ids, counted, fetch, weight * self._loss_weights[task])

    def state_dict(self) -> dict[str, Any]:
        """Counters and a generator, whatever the number of steps taken. The policy keeps its own state."""
        consumed = {task: queue.consumed for task, queue in self._queues.items()}
        return {"rng": self._rng.bit_generator.state, "consumed": consumed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from there; call it before the first `next`."""
        self._rng.bit_generator.state = state["rng"]
        for task, consumed in state["consumed"].items():
            self._queues[task].consumed = consumed


class TaskStream(Stream):
    """One batch of one task per step, drawn by the policy."""

    def next(self, step: int) -> Turn:
        choice = self.policy.choose(step, self._rng)
        return Turn(step, (self._part(choice.task),), choice)


class JointStream(Stream):
    """A batch of every task per step; the policy's mixture is the weight of their losses.

    A task of weight zero is left out of the step. Policies that count their own draws (`Union`, `Hold`) are
    refused: here nothing is drawn.
    """

    def __init__(self, tasks: Sequence[Task], policy: Policy, *args: Any, **kwargs: Any) -> None:
        refuse_counting(policy, "JointStream")
        super().__init__(tasks, policy, *args, **kwargs)

    def next(self, step: int) -> Turn:
        weights = self.policy.shares(step).items()
        return Turn(step, tuple(self._part(task, weight) for task, weight in weights if weight > 0))


class BranchStream(Stream):
    """A batch of each task that it is told about, with the weight that it is told, until it is told otherwise: for
    training in rounds, where nobody draws."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.weights: Mapping[str, float] = {}
        self.scheduled: int | None = None

    def next(self, step: int) -> Turn:
        parts = tuple(self._part(task, weight) for task, weight in self.weights.items())
        return Turn(step, parts, scheduled=self.scheduled)


Streams = Callable[..., Stream]
"""What makes a stream: a class of streams, or a function that has its options already."""
