"""One task's rows in random order, without replacement, again and again."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from rota.arrays import Ids
from rota.errors import RotaError
from rota.seeds import generator

Partial = Literal["short", "fill", "drop"]
"""What becomes of the last batch of a pass, where rows are missing: it is smaller; it is filled up from the next pass;
it is left out."""


def pass_order(seed: int, task: str, turn: int, rows: int) -> Ids:
    """The rows of a task in the order of a pass.

    >>> [pass_order(seed=0, task="rte", turn=turn, rows=4).tolist() for turn in range(2)]
    [[1, 0, 2, 3], [3, 1, 0, 2]]
    """
    return generator(seed, "order", task, turn).permutation(rows)


class Queue:
    """Batches of row numbers: each pass is a permutation of all rows, cut into batches.

    A pass depends on (seed, task, number of the pass) alone, so the whole memory is one counter.

    Args:
        task: Whose rows.
        rows: How many.
        batch_size: Rows in a batch.
        seed: Of the order.
        lengths: Where given, rows of similar length come together, which wastes less padding. A pass still holds
            every row once; only their order is less random.
        partial: What becomes of the last batch of a pass. By default it is smaller, and none straddles two passes.

    >>> queue = Queue("rte", rows=5, batch_size=2, seed=0)
    >>> sorted(int(i) for _ in range(queue.batches) for i in queue.next())
    [0, 1, 2, 3, 4]
    """

    GROUPED = 100
    """Batches among whose rows those of similar length are brought together."""

    def __init__(
        self,
        task: str,
        rows: int,
        batch_size: int,
        seed: int,
        lengths: Ids | None = None,
        partial: Partial = "short",
    ) -> None:
        self._task, self._rows, self._batch_size, self._seed = task, rows, batch_size, seed
        self._lengths, self._partial = lengths, partial
        self.batches = rows // batch_size if partial == "drop" else math.ceil(rows / batch_size)
        if not self.batches:
            raise RotaError(
                f"Expected at least one whole batch of {batch_size} rows of '{task}', since partial ones are dropped. "
                f"Found {rows} rows."
            )
        self.consumed = 0
        self._pass: tuple[int, Ids] = (-1, np.empty(0, dtype=np.int64))

    def at(self, number: int) -> Ids:
        """Batch `number`, counted from the very first."""
        size = self._batch_size
        if self._partial == "fill":
            return self._straddling(number * size, size)
        turn, position = divmod(number, self.batches)
        return self._in_pass(turn)[position * size : (position + 1) * size]

    def span(self, number: int, rows: int) -> tuple[int, int] | None:
        """Where so many rows of batch `number` stand among the rows of all passes, from the first to the one behind the
        last: with the seed, all that `pass_order` needs. None where rows of similar length come together."""
        if self._lengths is not None:
            return None
        turn, position = divmod(number, self.batches)
        first = number if self._partial == "fill" else position
        first = first * self._batch_size + (0 if self._partial == "fill" else turn * self._rows)
        return first, first + rows

    def _straddling(self, first: int, count: int) -> Ids:
        """So many rows from one on, counted over all passes."""
        turn, position = divmod(first, self._rows)
        own = self._in_pass(turn)[position : position + count]
        if len(own) == count:
            return own
        parts = [own]
        while (count := count - len(own)) > 0:
            turn += 1
            parts.append(own := self._in_pass(turn)[:count])
        return np.concatenate(parts)

    def _in_pass(self, turn: int) -> Ids:
        if self._pass[0] != turn:
            self._pass = turn, self.order(turn)
        return self._pass[1]

    def order(self, turn: int = 0) -> Ids:
        """The rows in the order of a pass."""
        order = pass_order(self._seed, self._task, turn, self._rows)
        if self._lengths is None:
            return order
        size = self._batch_size
        for start in range(0, self._rows, self.GROUPED * size):
            part = order[start : start + self.GROUPED * size]
            part[:] = part[np.argsort(self._lengths[part], kind="stable")]
        whole = self._rows // size * size  # the partial batch stays last
        batches = order[:whole].reshape(-1, size)
        shuffled = generator(self._seed, "grouping", self._task, turn).permutation(len(batches))
        return np.concatenate([batches[shuffled].ravel(), order[whole:]])

    def next(self) -> Ids:
        """The next batch; it counts as consumed."""
        ids = self.at(self.consumed)
        self.consumed += 1
        return ids

    def copy(self) -> Queue:
        """The same order from the start."""
        return Queue(self._task, self._rows, self._batch_size, self._seed, self._lengths, self._partial)
