"""Decisions and their rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from rota.arrays import Ids
from rota.draws import Draws, Parking, Partial, Queue, Shard
from rota.errors import RotaError
from rota.mixing._decision import Decision, RowSpan
from rota.mixing._stream_rows import CountingQueue
from rota.policies import Policy
from rota.seeds import generator


class Drawing:
    """Draws decisions, and knows the rows of each.

    Args:
        policy: Chooses the next task.
        sizes: Rows of each task; None for streams.
        rows: Of each task in an update, over all batches and processes.
        seed: Of the draws and of the order of rows.
        partial: What becomes of the last batch of a pass.
        blend: Whether an update has rows of several tasks.
        parking: Knows the tasks that are not drawn, as they are at each draw.
    """

    def __init__(
        self,
        policy: Policy,
        sizes: Mapping[str, int | None],
        rows: Mapping[str, int],
        seed: int,
        partial: Partial,
        blend: bool,
        parking: Parking,
    ) -> None:
        self.seed, self.blend, self._partial, self._parking = seed, blend, partial, parking
        self._left: dict[str, Any] = {}  # queues of tasks that have left
        self._left_sizes: dict[str, tuple[int | None, int]] = {}
        self.refuse(policy, sizes, rows)
        self._take(Draws(policy, {}, seed), policy, sizes, rows)

    def refuse(self, policy: Policy, sizes: Mapping[str, int | None], rows: Mapping[str, int]) -> None:
        """Refuse what cannot be drawn from."""
        if self.blend and policy.counts_draws:
            raise RotaError(
                f"A mix with rows of several tasks in a batch expects a policy that does not count its own draws. "
                f"Found {type(policy).__name__}. Leave blend out."
            )
        if self.blend and len(set(rows.values())) > 1:
            raise RotaError("A mix with rows of several tasks in a batch expects one batch size. Found several.")
        for task, size in sizes.items():
            self._queue(task, size, rows[task])  # it refuses too few rows

    def _take(self, before: Draws, policy: Policy, sizes: Mapping[str, int | None], rows: Mapping[str, int]) -> None:
        queues = {task: before.queues.get(task) or self._queue(task, sizes[task], rows[task]) for task in sizes}
        self.policy, self.sizes, self.rows = policy, dict(sizes), dict(rows)
        self._draws = Draws(policy, queues, self.seed)
        self._draws.rng = before.rng

    def _queue(self, task: str, size: int | None, rows: int) -> Any:
        batch = 1 if self.blend else rows  # queues of single rows, where rows are drawn
        return CountingQueue(batch) if size is None else Queue(task, size, batch, self.seed, partial=self._partial)

    def change(self, policy: Policy, sizes: Mapping[str, int | None], rows: Mapping[str, int]) -> None:
        """Go on with other tasks. Those that stay keep their place in their rows; rows of those that leave are still
        known, for decisions that were drawn before."""
        for task in self.sizes.keys() - sizes.keys():
            self._left[task] = self._draws.queues[task]
            self._left_sizes[task] = self.sizes[task], self.rows[task]
        self._take(self._draws, policy, sizes, rows)
        for task in sizes.keys() & self._left.keys():
            del self._left[task], self._left_sizes[task]  # it comes back, and begins anew

    def sizes_of_left(self, tasks: Collection[str]) -> dict[str, list[int | None]]:
        """Rows, and rows of an update, of those among these tasks that have left."""
        return {task: list(own) for task, own in self._left_sizes.items() if task in tasks}

    @property
    def drawn_from(self) -> Policy:
        """The policy, without what is parked."""
        return self._parking.drawn_from(self.policy)

    def _queue_of(self, task: str) -> Any:
        return self._draws.queues.get(task) or self._left[task]

    @property
    def updates_of_a_pass(self) -> int:
        """Updates that go once over the rows of all tasks."""
        batches = sum(queue.batches for queue in self._draws.queues.values())
        return -(-batches // next(iter(self.rows.values()))) if self.blend else batches

    def draw(self, step: int) -> Decision:
        """The decision of an update."""
        self._draws.policy = self.drawn_from
        if self.blend:
            return self._draw_rows(step)
        choice, number, ids = self._draws.draw(step)
        return Decision(step, choice, (RowSpan(choice.task, number, len(ids)),), ids=ids)

    def _draw_rows(self, step: int) -> Decision:
        shares = self._draws.policy.shares(step)
        total = next(iter(self.rows.values()))
        counts = self._draws.rng.multinomial(total, list(shares.values())).tolist()
        parts = []
        for task, count in zip(shares, counts, strict=True):
            if count:
                queue = self._draws.queues[task]
                parts.append(RowSpan(task, queue.consumed, count))
                queue.consumed += count
        return Decision(step, None, tuple(parts))

    def ids(self, decision: Decision) -> dict[str, Ids]:
        """The row numbers of a decision, by task."""
        if not self.blend:
            part = decision.parts[0]
            if decision.ids is None:
                decision.ids = self._queue_of(part.task).at(part.number)
            return {part.task: decision.ids}
        return {
            part.task: np.concatenate([self._queue_of(part.task).at(part.number + k) for k in range(part.rows)])
            for part in decision.parts
        }

    def spans(self, decision: Decision) -> dict[str, tuple[int, int] | None]:
        """Where the rows of a decision stand among those of all passes, by task."""
        return {part.task: self._queue_of(part.task).span(part.number, part.rows) for part in decision.parts}

    def dealt(self, decision: Decision, rows: Ids, shard: Shard) -> tuple[Ids, int]:
        """The part of a decision's rows that a batch has, and how many of them count. Rows of several tasks are
        shuffled before."""
        if self.blend:
            rows = rows[generator(self.seed, "blend", decision.step).permutation(len(rows))]
        return shard.of(rows)

    def counted(self, decision: Decision, shard: Shard) -> dict[str, int]:
        """Rows of each task that count in a batch."""
        if not self.blend:
            part = decision.parts[0]
            least, more = divmod(part.rows, shard.world)
            return {part.task: least + (shard.rank < more)}
        whose = np.repeat(np.arange(len(decision.parts)), [part.rows for part in decision.parts])
        kept, counted = self.dealt(decision, whose, shard)
        return {part.task: int((kept[:counted] == k).sum()) for k, part in enumerate(decision.parts)}

    def state_dict(self) -> dict[str, Any]:
        return self._draws.state_dict()

    def load_state_dict(self, state: Mapping[str, Any], left: Mapping[str, Sequence[Any]]) -> None:
        """Go on from there.

        Args:
            state: Of the draws.
            left: As `sizes_of_left` gave them.
        """
        self._draws.load_state_dict(state)
        self._left_sizes = {task: (size, rows) for task, (size, rows) in left.items()}
        self._left = {task: self._queue(task, *own) for task, own in self._left_sizes.items()}
