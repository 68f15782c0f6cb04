"""Rows of several tasks in one batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from rota.arrays import Ids
from rota.draws import Shard
from rota.engine import StepPlan, TaskBatch
from rota.errors import RotaError
from rota.evaluation import RunAccess
from rota.policies import Policy
from rota.seeds import generator
from rota.streams._scorer import CandidateScorer
from rota.streams._selectors import CandidateQuery, Selector
from rota.streams._streams import Stream, refuse_counting, rows_per_step
from rota.tasks import RowStats, Task

Reduction = Literal["task", "row"]


class MixedStream(Stream):
    """Batches whose rows belong to any tasks: the policy's mixture is the probability of each row's task.

    Policies that count their own draws (`Union`, `Hold`) are refused: here rows are drawn, not turns.

    Args:
        reduction: How the loss of a batch is made of its rows': the mean over the tasks in it of their means ("task"),
            or the mean over all rows ("row").

    >>> import torch
    >>> from rota.policies import uniform
    >>> from rota.tasks import Task
    >>> tasks = [Task.from_dataset(name, (torch.randn(50, 3), torch.arange(50) % 2)) for name in ("rte", "mrpc")]
    >>> plan = MixedStream(tasks, uniform(["rte", "mrpc"]), batch_size=8).next(step=0)
    >>> sum(len(part.ids) for part in plan.parts)
    8
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        policy: Policy,
        batch_size: int | Mapping[str, int],
        seed: int = 0,
        shard: Shard = Shard(),  # noqa: B008 - immutable
        *_: object,  # how other streams fetch whole batches
        reduction: Reduction = "task",
    ) -> None:
        refuse_counting(policy, type(self).__name__)
        sizes = rows_per_step(tasks, batch_size) if isinstance(batch_size, int) else batch_size
        if len(set(sizes.values())) > 1:
            found = ", ".join(f"{task} {rows}" for task, rows in sizes.items())
            raise RotaError(
                f"Batches of several tasks expect one batch size. Found {found}. Leave Task(batch_size=…) out."
            )
        self.size, self.reduction = next(iter(sizes.values())), reduction
        self._seed, self._shard = seed, shard
        self._rows = {task.name: task.splits["train"] for task in tasks}
        super().__init__(tasks, policy, dict.fromkeys(sizes, 1), seed, shard)  # queues hand out single rows

    def next(self, step: int) -> StepPlan:
        shares = self.policy.shares(step)
        counts = self._draws.rng.multinomial(self.size, list(shares.values()))
        return self._step_plan(step, {task: self._take(task, n) for task, n in zip(shares, counts, strict=True)})

    def _take(self, task: str, count: int) -> Ids:
        queue = self._draws.queues[task]
        return np.concatenate([queue.next() for _ in range(count)]) if count else np.empty(0, dtype=np.int64)

    def _step_plan(self, step: int, chosen: Mapping[str, Ids], pool: Mapping[str, Any] | None = None) -> StepPlan:
        """A turn with these rows."""
        present = {task: ids for task, ids in chosen.items() if len(ids)}
        rows = sum(map(len, present.values()))
        weights = {
            task: 1 / len(present) if self.reduction == "task" else len(ids) / rows for task, ids in present.items()
        }
        return StepPlan(step, tuple(self._of(task, ids, weights[task]) for task, ids in present.items()), None, pool)

    def _of(self, task: str, ids: Ids, weight: float) -> TaskBatch:
        own, counted = self._shard.of(ids)
        weight *= self._loss_weights[task]
        tokens = self._tokens_in(task, ids)
        return TaskBatch(task, ids, counted, lambda: self._rows[task].batch(own), weight, tokens=tokens)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "reduction": self.reduction}


class PoolStream(MixedStream):
    """Batches of those rows that a selector picks out of a pool of candidates.

    The policy's mixture says how the pool is made up: with a uniform one, each task has `candidates` rows in it.
    Candidates that are not picked come again in the task's next pass.

    Args:
        select: Picks.
        candidates: Rows of a task in the pool, for a uniform mixture; by default as many as a batch has.
        every: Steps between pools: a pool gives the rows for so many batches.
        returned: Whether candidates that are not picked come once more in the same pass, behind all others.
        scoring_dropout: Whether dropout is on while the model is asked.
        half: Whether the model is asked in bf16.
        layer: Where given, heads are asked about what this layer says, and later ones are spared.
        reduction: See `MixedStream`.

    It has to be connected to a run before its first step: the model is asked about the candidates.

    >>> from rota.data import load_tasks
    >>> from rota.models import HeadStyle, MultiTaskModel, SmallConv
    >>> from rota.policies import uniform
    >>> from rota.streams import Top
    >>> from rota.testing import access_to
    >>> tasks = load_tasks(["digits"])[:2]
    >>> model = MultiTaskModel(SmallConv(tasks[0].inputs.side), tasks, HeadStyle(dropout=0.1))
    >>> mixture = uniform([task.name for task in tasks])
    >>> stream = PoolStream(tasks, mixture, batch_size=8, select=Top("entropy"), candidates=16)
    >>> stream.connect(access_to(model, tasks))
    >>> plan = stream.next(step=0)
    >>> {task: own["candidates"] for task, own in plan.pool.items()}, sum(len(part.ids) for part in plan.parts)
    ({'left': 16, 'right': 16}, 8)
    """

    shardable: ClassVar[bool] = False

    def __init__(
        self,
        tasks: Sequence[Task],
        policy: Policy,
        batch_size: int | Mapping[str, int],
        *args: Any,
        select: Selector,
        candidates: int | None = None,
        every: int = 1,
        returned: bool = False,
        scoring_dropout: bool = False,
        half: bool = False,
        layer: int | None = None,
        **kwargs: Any,
    ) -> None:
        select.check(tasks)
        select.prepare(tasks)
        super().__init__(tasks, policy, batch_size, *args, **kwargs)
        self.select, self.candidates, self.every, self.returned = select, candidates or self.size, every, returned
        self.scoring_dropout, self.half, self.layer = scoring_dropout, half, layer
        self._back: dict[str, list[int]] = {task: [] for task in policy.tasks}
        self._again: dict[str, set[int]] = {task: set() for task in policy.tasks}  # of this pool, those given back
        self._upcoming: list[dict[str, list[int]]] = []  # rows of the batches to come, from the last pool
        self._ask: Callable[[CandidateQuery], dict[str, RowStats]] | None = None
        least = self.candidates * len(tasks)
        if least < self.size * every:
            raise RotaError(
                f"A pool expects at least as many candidates as rows are picked from it, {self.size * every}. Found "
                f"{least}. Raise candidates, or lower every."
            )

    def connect(self, run: RunAccess) -> None:
        self._ask = CandidateScorer(run, self.select, self.layer, self.scoring_dropout)

    def next(self, step: int) -> StepPlan:
        if self._upcoming:
            return self._step_plan(step, _as_ids(self._upcoming.pop(0)))
        if self._ask is None:
            raise RotaError("A PoolStream expects to be connected to a run, whose model it asks. Use it in `fit`.")
        most = self._counts(step)
        candidates = {task: self._candidates(task, count) for task, count in most.items()}
        found = self._ask(CandidateQuery(step, candidates, most, self.select, self.half, self.layer))
        picks = self.select.pick(found, self.size * self.every, generator(self._seed, "pool", step))
        count = max(1, min(self.every, math.ceil(len(picks) / self.size)))  # the end of a pass may have fewer rows
        batches = [_by_task(picks[first::count], candidates) for first in range(count)]
        self._give_back(candidates, picks)
        pool = {
            task: {
                "candidates": len(ids),
                "picked": sum(name == task for name, _ in picks),
                "uncertainty": self.select.unsure(found[task]),
            }
            for task, ids in candidates.items()
        }
        self._upcoming = batches[1:]
        return self._step_plan(step, _as_ids(batches[0]), pool)

    def _counts(self, step: int) -> dict[str, int]:
        """Candidates of each task: its share of the whole pool."""
        shares = self.policy.shares(step)
        whole = self.candidates * len(shares)
        return {task: max(1, round(whole * share)) for task, share in shares.items() if share > 0}

    def _candidates(self, task: str, count: int) -> Ids:
        """The next rows of a task; those that were given back come at the end of a pass. No pool straddles two passes,
        so that no row is in it twice."""
        queue, back, taken = self._draws.queues[task], self._back[task], list[int]()
        while len(taken) < count:
            ended = queue.consumed % queue.batches == 0
            if ended and back:
                taken.append(back.pop(0))
                self._again[task].add(taken[-1])
            elif ended and taken:
                break
            else:
                taken.append(int(queue.next()[0]))
        return np.array(taken, dtype=np.int64)

    def _give_back(self, candidates: Mapping[str, Ids], picks: Sequence[tuple[str, int]]) -> None:
        if self.returned:
            picked = set(picks)
            for task, ids in candidates.items():
                left = [int(row) for place, row in enumerate(ids) if (task, place) not in picked]
                # Once: rows that nobody ever picks would otherwise keep a pass from ending.
                self._back[task] += [row for row in left if row not in self._again[task]]
                self._again[task].clear()

    def state_dict(self) -> dict[str, Any]:
        back = {task: list(rows) for task, rows in self._back.items()}
        return {**super().state_dict(), "back": back, "ahead": list(self._upcoming)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._back = {task: list(rows) for task, rows in state["back"].items()}
        self._upcoming = list(state["ahead"])

    def describe(self) -> dict[str, Any]:
        names = ["candidates", "every", "returned", "half", "layer"]
        names += ["scoring_dropout"] if self.scoring_dropout else []  # older runs without it can be resumed
        about = {name: getattr(self, name) for name in names}
        return {**super().describe(), "select": self.select.describe(), **about}


def _by_task(picks: Sequence[tuple[str, int]], candidates: Mapping[str, Ids]) -> dict[str, list[int]]:
    return {task: [int(ids[place]) for name, place in picks if name == task] for task, ids in candidates.items()}


def _as_ids(rows: Mapping[str, Sequence[int]]) -> dict[str, Ids]:
    return {task: np.array(own, dtype=np.int64) for task, own in rows.items()}
