"""Decisions and their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rota.arrays import Ids
from rota.draws import Draws, Partial, Queue, Shard
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
    """

    def __init__(
        self,
        policy: Policy,
        sizes: Mapping[str, int | None],
        rows: Mapping[str, int],
        seed: int,
        partial: Partial,
        blend: bool,
    ) -> None:
        if blend and policy.counts_draws:
            raise RotaError(
                f"A mix with rows of several tasks in a batch expects a policy that does not count its own draws. "
                f"Found {type(policy).__name__}. Leave blend out."
            )
        if blend and len(set(rows.values())) > 1:
            raise RotaError("A mix with rows of several tasks in a batch expects one batch size. Found several.")
        self.policy, self.sizes, self.rows, self.seed, self.blend = policy, sizes, rows, seed, blend
        queues: dict[str, Any] = {}
        for task, size in sizes.items():
            batch = 1 if blend else rows[task]  # queues of single rows, where rows are drawn
            queues[task] = CountingQueue(batch) if size is None else Queue(task, size, batch, seed, partial=partial)
        self._draws = Draws(policy, queues, seed)

    @property
    def updates_of_a_pass(self) -> int:
        """Updates that go once over the rows of all tasks."""
        batches = sum(queue.batches for queue in self._draws.queues.values())
        return -(-batches // next(iter(self.rows.values()))) if self.blend else batches

    def draw(self, step: int) -> Decision:
        """The decision of an update."""
        if self.blend:
            return self._draw_rows(step)
        choice, number, ids = self._draws.draw(step)
        return Decision(step, choice, (RowSpan(choice.task, number, len(ids)),), ids=ids)

    def _draw_rows(self, step: int) -> Decision:
        shares = self.policy.shares(step)
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
        queues = self._draws.queues
        if not self.blend:
            part = decision.parts[0]
            if decision.ids is None:
                decision.ids = queues[part.task].at(part.number)
            return {part.task: decision.ids}
        return {
            part.task: np.concatenate([queues[part.task].at(part.number + k) for k in range(part.rows)])
            for part in decision.parts
        }

    def spans(self, decision: Decision) -> dict[str, tuple[int, int] | None]:
        """Where the rows of a decision stand among those of all passes, by task."""
        return {part.task: self._draws.queues[part.task].span(part.number, part.rows) for part in decision.parts}

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

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._draws.load_state_dict(state)
