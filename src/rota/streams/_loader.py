"""Fetch the batches of one task, at once or ahead of time in other processes."""

from __future__ import annotations

import ctypes
import functools
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset, Sampler

from rota.streams._queue import Queue
from rota.tasks import Batch, Ids, Rows

PARENT_DEATH_SIGNAL = 1  # as Linux calls it for prctl

Arrays = tuple[dict[str, NDArray[Any]], NDArray[Any]]
"""Inputs and labels of a batch on their way from another process."""


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
        self._ahead: Iterator[Arrays] = iter(())
        self._upcoming = -1  # number of the batch that the workers hand out next

    def next(self) -> tuple[Ids, int, Callable[[], Batch]]:
        """The row numbers of the whole batch, how many of this process's rows count, and what fetches these rows."""
        number, ids = self._queue.consumed, self._queue.next()
        own, counted = self._shard.of(ids)
        return ids, counted, functools.partial(self._fetch, number, own)

    def _fetch(self, number: int, own: Ids) -> Batch:
        if not self._workers:
            return self._rows.batch(own)
        if number != self._upcoming:
            self._ahead = iter(self._start_workers(number))
        self._upcoming = number + 1
        return _batch(next(self._ahead))

    def _start_workers(self, number: int) -> DataLoader[Arrays]:
        return DataLoader(
            _Fetch(self._rows),
            batch_size=None,  # the sampler already yields whole batches
            sampler=_Upcoming(self._queue, number, self._shard),
            num_workers=self._workers,
            collate_fn=_as_it_is,  # type: ignore[arg-type]  # one batch, not a list of rows
            worker_init_fn=_end_with_the_run,
            generator=torch.Generator(),  # its own: starting workers must not touch the dropout's generator
        )


class _Fetch(Dataset[Arrays]):
    """Batches as arrays: tensors would travel as shared memory, which needs an open file for each and complains
    when a run is interrupted."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __getitem__(self, ids: Ids) -> Arrays:
        batch = self._rows.batch(ids)
        return {name: tensor.numpy() for name, tensor in batch.inputs.items()}, batch.labels.numpy()


def _batch(arrays: Arrays) -> Batch:
    inputs, labels = arrays
    return Batch({name: torch.from_numpy(array) for name, array in inputs.items()}, torch.from_numpy(labels))


class _Upcoming(Sampler[Ids]):
    def __init__(self, queue: Queue, number: int, shard: Shard) -> None:
        self._queue, self._number, self._shard = queue, number, shard

    def __iter__(self) -> Iterator[Ids]:
        return (self._shard.of(ids)[0] for ids in self._queue.upcoming(self._number))


def _end_with_the_run(_: int) -> None:
    """A run that is killed takes its workers along; otherwise they wait for ever to hand over what nobody fetches."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _as_it_is(arrays: Arrays) -> Arrays:
    return arrays
