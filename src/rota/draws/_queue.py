"""One task's rows in random order, without replacement, again and again."""

from __future__ import annotations

import math

import numpy as np

from rota.arrays import Ids
from rota.seeds import generator


class Queue:
    """Batches of row numbers: each pass is a permutation of all rows, cut into batches; the last batch of a
    pass may be smaller, and none straddles two passes.

    A pass depends on (seed, task, number of the pass) alone, so the whole memory is one counter.

    Args:
        task: Whose rows.
        rows: How many.
        batch_size: Rows in a batch.
        seed: Of the order.
        lengths: Where given, rows of similar length come together, which wastes less padding. A pass still holds
            every row once; only their order is less random.

    >>> queue = Queue("rte", rows=5, batch_size=2, seed=0)
    >>> sorted(int(i) for _ in range(queue.batches) for i in queue.next())
    [0, 1, 2, 3, 4]
    """

    GROUPED = 100
    """Batches among whose rows those of similar length are brought together."""

    def __init__(self, task: str, rows: int, batch_size: int, seed: int, lengths: Ids | None = None) -> None:
        self._task, self._rows, self._batch_size, self._seed = task, rows, batch_size, seed
        self._lengths = lengths
        self.batches = math.ceil(rows / batch_size)
        self.consumed = 0
        self._pass: tuple[int, Ids] = (-1, np.empty(0, dtype=np.int64))

    def at(self, number: int) -> Ids:
        """Batch `number`, counted from the very first."""
        turn, position = divmod(number, self.batches)
        if self._pass[0] != turn:
            self._pass = turn, self.order(turn)
        start = position * self._batch_size
        return self._pass[1][start : start + self._batch_size]

    def order(self, turn: int = 0) -> Ids:
        """The rows in the order of a pass."""
        order = generator(self._seed, "order", self._task, turn).permutation(self._rows)
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
        return Queue(self._task, self._rows, self._batch_size, self._seed, self._lengths)
