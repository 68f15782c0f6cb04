"""Fetch the batches of one task, at once or ahead of time in other processes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from rota.arrays import Ids
from rota.draws import Queue, Shard
from rota.streams._prefetcher import Prefetcher
from rota.tasks import Batch, Rows


class Loader:
    """The batches of one task, in the order of its queue, or only their row numbers, where the rows are on the device
    already.

    With workers, batches are fetched ahead; the queue still counts only what was handed out.
    """

    def __init__(self, rows: Rows, queue: Queue, shard: Shard, workers: int) -> None:
        self._rows, self._queue, self._shard, self._workers = rows, queue, shard, workers
        self._prefetcher: Prefetcher | None = None
        self._upcoming = -1  # number of the batch that the workers hand out next

    @property
    def size(self) -> int:
        """Rows in a pass."""
        return len(self._rows)

    def own(self, number: int, ids: Ids) -> tuple[int, Callable[[], Batch]]:
        """Of a whole batch: how many of this process's rows count, and what fetches these rows."""
        own, counted = self._shard.of(ids)
        return counted, functools.partial(self._fetch, number, own)

    def _fetch(self, number: int, own: Ids) -> Batch:
        if not self._workers:
            return self._rows.batch(own)
        if self._prefetcher is None or number != self._upcoming:
            self.close()
            self._prefetcher = Prefetcher(_Upcoming(self._rows, self._queue.copy(), self._shard), number, self._workers)
        self._upcoming = number + 1
        return self._prefetcher.next()

    def close(self) -> None:
        """End the workers, if there are any."""
        if self._prefetcher is not None:
            self._prefetcher.close()


@dataclass(frozen=True)
class _Upcoming:
    """A batch by its number, for another process."""

    rows: Rows
    queue: Queue
    shard: Shard

    def __call__(self, number: int) -> Batch:
        return self.rows.batch(self.shard.of(self.queue.at(number))[0])
