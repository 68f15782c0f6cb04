"""Fetch the batches of one task, at once or ahead of time in other processes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rota.streams._ahead import Ahead
from rota.streams._queue import Queue
from rota.tasks import Batch, Ids, Rows


@dataclass(frozen=True)
class Shard:
    """Which part of every batch this process works on."""

    rank: int = 0
    world: int = 1

    def of(self, ids: Ids) -> tuple[Ids, int]:
        """This process's rows, and how many of them count.

        A batch with fewer rows than processes leaves somebody without a row; that process computes the
        first row of the batch, which then counts nothing. Padding stays inside the task.
        """
        own = np.array_split(ids, self.world)[self.rank]
        return (own, len(own)) if len(own) else (ids[:1], 0)


class Loader:
    """The batches of one task, in the order of its queue, for those who ask for them: whoever keeps the rows where
    they are needed is content with their numbers.

    With workers, batches are fetched ahead; the queue still counts only what was handed out.
    """

    def __init__(self, rows: Rows, queue: Queue, shard: Shard, workers: int) -> None:
        self._rows, self._queue, self._shard, self._workers = rows, queue, shard, workers
        self._ahead: Ahead | None = None
        self._upcoming = -1  # number of the batch that the workers hand out next

    def next(self) -> tuple[Ids, int, Callable[[], Batch]]:
        """The row numbers of the whole batch, how many of this process's rows count, and what fetches these rows."""
        number, ids = self._queue.consumed, self._queue.next()
        own, counted = self._shard.of(ids)
        return ids, counted, functools.partial(self._fetch, number, own)

    def _fetch(self, number: int, own: Ids) -> Batch:
        if not self._workers:
            return self._rows.batch(own)
        if self._ahead is None or number != self._upcoming:
            self._ahead = Ahead(_Upcoming(self._rows, self._queue.copy(), self._shard), number, self._workers)
        self._upcoming = number + 1
        return self._ahead.next()


@dataclass(frozen=True)
class _Upcoming:
    """A batch by its number, for another process."""

    rows: Rows
    queue: Queue
    shard: Shard

    def __call__(self, number: int) -> Batch:
        return self.rows.batch(self.shard.of(self.queue.at(number))[0])
