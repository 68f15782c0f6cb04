"""Turn a policy into batches."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import Tensor

from rota.arrays import Ids
from rota.draws import Draws, Parking, Queue, Shard
from rota.engine import StepPlan, TaskBatch
from rota.errors import RotaError
from rota.evaluation import RunAccess
from rota.policies import Policy
from rota.streams._loader import Loader
from rota.tasks import Task

StepKind = Literal["turns", "joint", "rounds"]
"""Who is in the steps of a stream: a task in turn, all tasks, or as rounds of branches have it."""


@dataclass(frozen=True)
class Ended:
    """What a stream has to say after a step.

    Args:
        line: For the log.
        failure: Why the run cannot go on, if so; everything is saved before it is said.
        notice: What a person should know.

    >>> Ended({"kind": "round", "round": 1}).failure is None
    True
    """

    line: dict[str, Any]
    failure: str | None = None
    notice: str | None = None


def rows_per_step(tasks: Sequence[Task], batch_size: int, passes: int = 1) -> dict[str, int]:
    """Rows of each task in a step: its own batch size or the given one, times the forward passes of all processes.

    >>> import torch
    >>> task = Task.from_dataset("signs", (torch.randn(100, 3), torch.arange(100) % 2))
    >>> rows_per_step([task], batch_size=32, passes=2)
    {'signs': 64}
    """
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
            f"TaskStream, or give a mixture (Fixed, Tempered, Exp3S); leave Task(stop_after=…) out."
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

    >>> from rota.data import load_tasks
    >>> from rota.policies import uniform
    >>> class InTurn(Stream):
    ...     def next(self, step):
    ...         return StepPlan(step, (self._part(self.policy.tasks[step % 2], weight=1.0),))
    >>> tasks = load_tasks(["digits"])[:2]
    >>> stream = InTurn(tasks, uniform([task.name for task in tasks]), batch_size=4)
    >>> [stream.next(step).parts[0].task for step in range(3)]
    ['left', 'right', 'left']
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
        self._loss_weights = {task.name: task.loss_weight for task in tasks}
        self._tokens = {task.name: task.tokens() for task in tasks}
        rows = rows_per_step(tasks, batch_size) if isinstance(batch_size, int) else batch_size
        queues = {
            task.name: Queue(
                task.name,
                task.size(),
                rows[task.name],
                seed,
                task.splits["train"].lengths() if group_lengths else None,
            )
            for task in tasks
        }
        self._draws = Draws(policy, queues, seed)
        self._parking = Parking(None)
        self._loaders = {task.name: Loader(task.splits["train"], queues[task.name], shard, workers) for task in tasks}

    needs_outcome: ClassVar[bool] = False
    """Whether it must know at once how a step went: then losses are not read late."""

    notice: str | None = None
    """What a person should know about the whole run."""

    def connect(self, run: RunAccess) -> None:  # noqa: B027 - optional on purpose
        """Take part in a run, before its folder is made: refuse now what its model or its settings cannot do."""

    shape: ClassVar[StepKind] = "turns"
    """Who is in its steps."""

    parks: ClassVar[bool] = False
    """Whether it leaves tasks out whose losses stop being numbers (`Settings(park_after=…)`)."""

    shardable: ClassVar[bool] = True
    """Whether it can train a model of which each process has a part (`Settings(shard=True)`): such a one is asked
    through its forward pass alone, equally often in all processes, and never copied."""

    @abstractmethod
    def next(self, step: int) -> StepPlan | None:
        """What to train on at `step`; None: nothing any more."""

    def ended(self, done: int, skipped: bool) -> Ended | None:  # noqa: B027 - optional on purpose
        """A step is done; `skipped`: it changed nothing, since its loss was not a number."""

    def kept(self, plan: StepPlan) -> Mapping[str, int]:
        """Rows of each task that count as trained on now that a step has ended: its own; where steps may be taken
        back, nothing until that is decided."""
        return {part.task: len(part.ids) for part in plan.parts}

    def rounds(self, rows: Mapping[str, int]) -> float:
        """The rounds that are over, after so many rows of each task; passes over all rows where it knows no rounds."""
        return sum(rows.values()) / sum(loader.size for loader in self._loaders.values())

    @property
    def between_rounds(self) -> bool:
        """Whether the parameters are those of a model, which can be evaluated, and not of a branch."""
        return True

    def expected_shares(self, step: int) -> dict[str, float]:
        """The share of the coming turns that each task can expect."""
        return self.policy.expected_shares(step)

    def tensors(self) -> dict[str, Tensor]:
        """What it remembers of parameters, for a checkpoint."""
        return {}

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:  # noqa: B027 - optional on purpose
        """Bring back what `tensors` wrote."""

    def close(self) -> None:
        """The run is over: nothing has to be fetched any more."""
        for loader in self._loaders.values():
            loader.close()

    def describe(self) -> dict[str, Any]:
        """Its own options, as plain JSON."""
        return {}

    def _part(self, task: str, weight: float = 1.0) -> TaskBatch:
        """The next batch of a task, without a draw."""
        queue = self._draws.queues[task]
        return self._batch(task, queue.consumed, queue.next(), weight)

    def _batch(self, task: str, number: int, ids: Ids, weight: float = 1.0) -> TaskBatch:
        counted, fetch = self._loaders[task].own(number, ids)
        span = self._draws.queues[task].span(number, len(ids))
        return TaskBatch(task, ids, counted, fetch, weight * self._loss_weights[task], span, self._tokens_in(task, ids))

    def _tokens_in(self, task: str, ids: Ids) -> int | None:
        """How many tokens of these rows are trained; None where the task's rows do not say."""
        counts = self._tokens[task]
        return None if counts is None else int(counts[ids].sum())

    def state_dict(self) -> dict[str, Any]:
        """Counters and a generator, whatever the number of steps taken. The policy keeps its own state."""
        parking = {} if self._parking.after is None else {"parking": self._parking.state_dict()}
        return {**self._draws.state_dict(), **parking}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from there; call it before the first `next`."""
        self._draws.load_state_dict(state)
        self._parking.load_state_dict(state.get("parking", {}))

    def carried(self, state: dict[str, Any], tasks: Sequence[str]) -> dict[str, Any]:
        """The state of a stream of other tasks (`tasks`) as one of its own; refuse where more is remembered of them
        than how many rows they gave."""
        if type(self).state_dict is not Stream.state_dict:
            raise RotaError(
                f"{type(self).__name__} expects the tasks that it began with, since it remembers rows or weights of "
                f"each. Found others. Start a new run for them."
            )
        self._parking.load_state_dict(state.get("parking", {}))
        self._parking.forget(set(tasks) - set(self.policy.tasks))
        parking = {} if self._parking.after is None else {"parking": self._parking.state_dict()}
        return {**self._draws.carried(state, tasks), **parking}


class TaskStream(Stream):
    """One batch of one task per step, drawn by the policy.

    >>> import torch
    >>> from rota.policies import uniform
    >>> from rota.tasks import Task
    >>> tasks = [Task.from_dataset(name, (torch.randn(50, 3), torch.arange(50) % 2)) for name in ("rte", "mrpc")]
    >>> plan = TaskStream(tasks, uniform(["rte", "mrpc"]), batch_size=8).next(step=0)
    >>> len(plan.parts), len(plan.parts[0].ids), plan.choice.probability
    (1, 8, 0.5)
    """

    parks: ClassVar[bool] = True

    def connect(self, run: RunAccess) -> None:
        self._parking = Parking(run.settings.park_after)
        self._parking.refuse_turns(self.policy)

    def next(self, step: int) -> StepPlan:
        self._draws.policy = self._parking.drawn_from(self.policy)
        choice, number, ids = self._draws.draw(step)
        self._drawn = choice.task
        return StepPlan(step, (self._batch(choice.task, number, ids),), choice)

    def ended(self, done: int, skipped: bool) -> Ended | None:
        line = self._parking.hear(self._drawn, math.nan if skipped else 0.0, done)
        return None if line is None else Ended(line, notice=self._parking.notice(line))

    def expected_shares(self, step: int) -> dict[str, float]:
        return self._parking.drawn_from(self.policy).expected_shares(step)


class JointStream(Stream):
    """A batch of every task per step; the policy's mixture is the weight of their losses.

    A task of weight zero is left out of the step. Policies that count their own draws (`Union`, `Hold`) are
    refused: here nothing is drawn.

    >>> import torch
    >>> from rota.policies import Fixed
    >>> from rota.tasks import Task
    >>> tasks = [Task.from_dataset(name, (torch.randn(50, 3), torch.arange(50) % 2)) for name in ("rte", "mrpc")]
    >>> plan = JointStream(tasks, Fixed({"rte": 1, "mrpc": 3}), batch_size=8).next(step=0)
    >>> [(part.task, part.weight) for part in plan.parts]
    [('rte', 0.25), ('mrpc', 0.75)]
    """

    shape: ClassVar[StepKind] = "joint"

    def __init__(self, tasks: Sequence[Task], policy: Policy, *args: Any, **kwargs: Any) -> None:
        refuse_counting(policy, "JointStream")
        super().__init__(tasks, policy, *args, **kwargs)

    def next(self, step: int) -> StepPlan:
        weights = self.policy.shares(step).items()
        return StepPlan(step, tuple(self._part(task, weight) for task, weight in weights if weight > 0))


Streams = Callable[..., Stream]
"""What makes a stream: a class of streams, or a function that has its options already."""
