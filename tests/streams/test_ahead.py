"""Batches that other processes fetch ahead of time."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import time

import numpy as np
import pytest
import torch

from rota.errors import RotaError
from rota.streams._prefetcher import Prefetcher
from rota.tasks import Batch


def numbered(number):
    if number == 7:
        raise ValueError("row 7 cannot be read")
    drawn = [random.random(), np.random.rand(), torch.rand(()).item()]
    return Batch({"x": torch.tensor([number])}, torch.tensor(drawn))


def large(number):
    return Batch({"x": torch.full((1_000_000,), number)}, torch.zeros(1))


@pytest.mark.parametrize("workers", [1, 3])
def test_batches_come_in_order_whoever_makes_them(workers):
    ahead = Prefetcher(numbered, 2, workers)
    assert [ahead.next().inputs["x"].item() for _ in range(5)] == [2, 3, 4, 5, 6]


def test_what_a_batch_draws_depends_on_its_number_alone():
    one, three = Prefetcher(numbered, 0, 1), Prefetcher(numbered, 0, 3)
    drawn = [one.next().labels for _ in range(6)]
    assert all(three.next().labels.equal(labels) for labels in drawn)
    assert len({tuple(labels.tolist()) for labels in drawn}) == 6


def test_batches_larger_than_a_pipe_arrive_whole():
    ahead = Prefetcher(large, 0, 2)
    for number in range(4):
        assert ahead.next().inputs["x"].eq(number).all()


def test_an_error_names_its_cause():
    ahead = Prefetcher(numbered, 6, 1)
    ahead.next()
    with pytest.raises(RuntimeError, match=r"(?s)fetches batches failed.*ValueError: row 7 cannot be read"):
        ahead.next()


def test_a_worker_that_dies_ends_the_run_with_a_sentence():
    before = set(multiprocessing.active_children())
    ahead = Prefetcher(large, 0, 1)
    (worker,) = set(multiprocessing.active_children()) - before
    ahead.next()
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(RotaError, match="Use fewer of them"):
        ahead.next()  # of which the pipe holds a part at most


def test_workers_end_with_whoever_asked_for_them():
    ahead = Prefetcher(large, 0, 2)
    workers = multiprocessing.active_children()
    assert len(workers) == 2
    del ahead
    gc.collect()
    assert not multiprocessing.active_children()


def test_workers_leave_interrupts_to_the_run():
    ahead = Prefetcher(large, 0, 1)
    (worker,) = multiprocessing.active_children()
    ahead.next()
    os.kill(worker.pid, signal.SIGINT)
    time.sleep(0.1)
    assert ahead.next().inputs["x"].eq(1).all()
