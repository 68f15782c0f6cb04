"""Several processes that do one thing after the other."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from rota.interrupts import GRACE, save_on_signals

TICK = 1.0  # seconds after which a waiting caller hears that nothing has happened
ORPHANED = 0.2  # seconds after which a process notices that its parent is gone
Work = Callable[[Any], Any]


class _Worker:
    """One process, and what it is doing."""

    def __init__(self, work: Work) -> None:
        context = multiprocessing.get_context("spawn")  # a fork of a process that has used a GPU cannot use it
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, work), daemon=True)
        self.process.start()
        theirs.close()
        self.item: Any = None

    def give(self, item: Any) -> None:
        self.item = item
        self.pipe.send(item)

    def result(self) -> tuple[bool, Any]:
        """Whether it lives, and what its work returned, or how it died."""
        try:
            return True, self.pipe.recv()
        except EOFError:
            self.process.join()
            return False, f"its process died (exit code {self.process.exitcode})"

    def end(self) -> None:
        """Wait until it has saved what it trains, after it was asked to end."""
        self.process.join(GRACE)
        self.process.kill()
        self.process.join()
        self.pipe.close()


def work_through(items: Sequence[Any], work: Work, processes: int) -> Iterator[tuple[str, Any, Any]]:
    """Do all items, several at a time; say what happens.

    A process that dies (out of memory, killed) takes only its own item with it.

    Args:
        items: Plain objects that can be sent to a process.
        work: A function at the top of a module; returns a plain object.
        processes: At most so many at a time.

    Yields:
        ("started", item, None), ("done", item, what was returned), ("died", item, how), and at intervals
        ("waiting", None, None).
    """
    waiting, idle = list(items), [_Worker(work) for _ in range(min(processes, len(items)))]
    busy: dict[Connection, _Worker] = {}
    try:
        while waiting or busy:
            while waiting and idle:
                worker = idle.pop()
                busy[worker.pipe] = worker
                worker.give(waiting.pop(0))
                yield "started", worker.item, None
            ready = wait(list(busy), timeout=TICK)
            if not ready:
                yield "waiting", None, None
            for pipe in ready:
                worker = busy.pop(pipe)  # type: ignore[call-overload]
                alive, said = worker.result()
                yield "done" if alive else "died", worker.item, said
                if alive or waiting:
                    idle.append(worker if alive else _Worker(work))
    finally:
        left = [*idle, *busy.values()]
        for worker in left:
            worker.process.terminate()
        for worker in left:
            worker.end()


def _serve(pipe: Connection, work: Work) -> None:
    """What a process does: everything that comes through the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and ends us by another one
    threading.Thread(target=_die_with, args=(os.getppid(),), daemon=True).start()
    with contextlib.suppress(EOFError, KeyboardInterrupt), save_on_signals():
        while True:
            pipe.send(work(pipe.recv()))


def _die_with(parent: int) -> None:
    """End with the parent: one that was killed cannot end us, and a restart would write into the same folder."""
    while os.getppid() == parent:
        time.sleep(ORPHANED)
    os._exit(1)
