"""Fetch batches ahead of time in other processes."""

from __future__ import annotations

import ctypes
import itertools
import multiprocessing
import multiprocessing.util
import random
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import numpy as np
import torch

from rota.errors import RotaError
from rota.tasks import Batch

PARENT_DEATH_SIGNAL = 1  # as Linux calls it for prctl

Fetch = Callable[[int], Batch]
"""What makes the batch of a number."""


class Prefetcher:
    """The batches of ascending numbers, made by worker processes that take turns.

    Each worker has a pipe of its own and sends until that is full, so there is no lock and no thread that an
    interrupt could leave in the middle of something: an interrupt at any moment kills the workers.
    """

    def __init__(self, fetch: Fetch, first: int, workers: int) -> None:
        turns = [_start(fetch, first + plan, workers) for plan in range(workers)]
        self._turns = itertools.cycle(reader for reader, _ in turns)
        # To be called, or when nobody needs it any more; at the end of Python before its workers are waited for.
        self.close = multiprocessing.util.Finalize(self, _stop, [turns], exitpriority=0)

    def next(self) -> Batch:
        """The batch after the one before."""
        try:
            received = next(self._turns).recv()
        except (EOFError, OSError):  # between two batches, or in the middle of one
            raise RotaError(
                "Expected the processes that fetch batches to live as long as the run. Found that one ended; the "
                "system may have run out of memory. Use fewer of them: Settings(num_workers=…)."
            ) from None
        if isinstance(received, str):
            raise RuntimeError(f"A process that fetches batches failed:\n{received}")
        inputs, labels = received
        return Batch({name: torch.from_numpy(array) for name, array in inputs.items()}, torch.from_numpy(labels))


def _start(fetch: Fetch, first: int, stride: int) -> tuple[Connection, BaseProcess]:
    reader, writer = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=_work, args=(fetch, first, stride, writer), daemon=True)
    process.start()
    writer.close()  # the worker's alone: the pipe then ends with the worker
    return reader, process


def _stop(turns: Sequence[tuple[Connection, BaseProcess]]) -> None:
    for _, process in turns:
        process.kill()
    for reader, process in turns:
        process.join()
        process.close()
        reader.close()


def _work(fetch: Fetch, first: int, stride: int, writer: Connection) -> None:
    _end_with_the_run()
    torch.set_num_threads(1)  # the cores belong to the training
    for number in itertools.count(first, stride):
        _seed(number)
        try:
            batch = fetch(number)
        except Exception:
            return writer.send(traceback.format_exc())
        # Arrays: tensors would travel as shared memory, which needs an open file for each.
        writer.send(({name: tensor.numpy() for name, tensor in batch.inputs.items()}, batch.labels.numpy()))


def _end_with_the_run() -> None:
    """Signals are for the run's own process, which may need another batch to finish its step. One that is killed takes
    its workers along; otherwise they would wait endlessly to hand over their batches."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
        parent = multiprocessing.parent_process()
        if parent is not None and not parent.is_alive():
            sys.exit()  # it was faster


def _seed(number: int) -> None:
    """Rows that draw (augmentation) draw the same for a batch, whichever worker makes it."""
    random.seed(number)
    np.random.seed(number % 2**32)
    torch.manual_seed(number)
