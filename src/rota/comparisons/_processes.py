"""Several processes, each of which does several things side by side."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from rota.interrupts import GRACE, save_on_signals
from rota.turns import Turns

TICK = 1.0  # seconds after which a waiting caller hears that nothing has happened
LISTENING = 0.05  # seconds after which a process looks whether there is more to do
ORPHANED = 0.2  # seconds after which a process notices that its parent is gone


def _one_by_one(work: Callable[[Any], Any], first: Any) -> tuple[Turns[Any, Any], int]:
    return Turns(work), 1


class Labour(NamedTuple):
    """What processes do; both are functions at the top of a module, so that a process can be told of them.

    Args:
        work: What is done with an item, a plain object; returns one.
        turns: Makes what does it, and says how many can be under way at a time, after a look at the first item.
    """

    work: Callable[[Any], Any]
    turns: Callable[[Callable[[Any], Any], Any], tuple[Turns[Any, Any], int]] = _one_by_one


class _Worker:
    """One process, and what it is doing."""

    def __init__(self, labour: Labour) -> None:
        context = multiprocessing.get_context("spawn")  # a fork of a process that has used a GPU cannot use it
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, labour), daemon=True)
        self.process.start()
        theirs.close()
        self.items: list[Any] = []
        self.room = 1  # until it has looked at the first one

    def give(self, item: Any) -> None:
        self.items.append(item)
        self.pipe.send(item)

    def hear(self) -> tuple[str, Any, Any]:
        """What it says: ("room", None, how many items it takes), or ("done", item, what was returned); or that it
        ("died", None, how)."""
        try:
            kind, item, said = self.pipe.recv()
        except EOFError:
            self.process.join()
            return "died", None, f"its process died (exit code {self.process.exitcode})"
        if kind == "done":
            self.items.remove(item)
        return kind, item, said

    def end(self) -> None:
        """Wait until it has saved what it trains, after it was asked to end."""
        self.process.join(GRACE)
        self.process.kill()
        self.process.join()
        self.pipe.close()


def work_through(items: Sequence[Any], labour: Labour, processes: int) -> Iterator[tuple[str, Any, Any]]:
    """Do all items, several at a time; say what happens.

    A process that dies (out of memory, killed) takes only its own items with it.

    Args:
        items: Plain objects that can be sent to a process.
        labour: What is done with them.
        processes: At most so many at a time.

    Yields:
        ("started", item, None), ("done", item, what was returned), ("died", item, how), and at intervals
        ("waiting", None, None).
    """
    waiting, workers = list(items), [_Worker(labour) for _ in range(min(processes, len(items)))]
    each = math.ceil(len(items) / len(workers))
    try:
        while waiting or any(worker.items for worker in workers):
            while waiting:
                worker = min(workers, key=lambda own: len(own.items) - own.room)
                if len(worker.items) >= worker.room:
                    break
                worker.give(waiting.pop(0))
                yield "started", worker.items[-1], None
            ready = wait([worker.pipe for worker in workers], timeout=TICK)
            if not ready:
                yield "waiting", None, None
            for worker in [own for own in workers if own.pipe in ready]:
                kind, item, said = worker.hear()
                if kind == "room":
                    worker.room = even(each, said)
                elif kind == "done":
                    yield "done", item, said
                elif kind == "died":
                    workers.remove(worker)
                    for lost in worker.items:
                        yield "died", lost, said
                    if waiting:
                        workers.append(_Worker(labour))
    finally:
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.end()


def even(items: int, most: int) -> int:
    """How many at a time, at most `most`, so that no round of them has only a few.

    >>> even(25, most=12)
    9
    """
    return math.ceil(items / math.ceil(items / most))


def _serve(pipe: Connection, labour: Labour) -> None:
    """What a process does: everything that comes through the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and ends us by another one
    threading.Thread(target=_die_with, args=(os.getppid(),), daemon=True).start()
    try:
        with save_on_signals():
            first = pipe.recv()
            turns, places = labour.turns(labour.work, first)
            pipe.send(("room", None, places))
            turns.add(first)
            turns.open(places)
            _serve_on(pipe, turns)
    except (EOFError, KeyboardInterrupt):
        pass


def _serve_on(pipe: Connection, turns: Turns[Any, Any]) -> None:
    under_way, asked_to_end = 1, False
    try:
        while under_way or not asked_to_end:
            while not asked_to_end and pipe.poll():
                turns.add(pipe.recv())
                under_way += 1
            kind, item, said = turns.next_event(LISTENING)
            if kind == "done":
                pipe.send((kind, item, said))
                under_way -= 1
            elif kind == "raised":
                if isinstance(said, Exception):
                    raise said
                asked_to_end = True  # and so are all others, who save what they have
                under_way -= 1 + turns.drop_waiting()
    finally:
        turns.close()


def _die_with(parent: int) -> None:
    """End with the parent: one that was killed cannot end us, and a restart would write into the same folder."""
    while os.getppid() == parent:
        time.sleep(ORPHANED)
    os._exit(1)
