"""Processes of this machine, each of which does several things side by side."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Hashable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from rota.interrupts import GRACE, save_on_signals
from rota.turns import Turns
from rota.workers._labour import TICK, Assignment, Labour, LabourEvent

LISTENING = 0.05  # seconds after which a process looks whether there is more to do
ORPHANED = 0.2  # seconds after which a process notices that its parent is gone


class Processes:
    """Processes of this machine; a single one is the caller's own.

    Args:
        jobs: At most so many at a time.

    >>> def work(assignment):
    ...     return "done", assignment.fields["said"]
    >>> assignments = [Assignment(name, f"/runs/{name}", {"said": name.upper()}) for name in ("one", "two")]
    >>> events = Processes().work_through(assignments, Labour(work))
    >>> [ended for kind, _, ended in events if kind == "done"]
    [('done', 'ONE'), ('done', 'TWO')]
    """

    def __init__(self, jobs: int = 1) -> None:
        self.jobs = jobs

    def work_through(self, assignments: Sequence[Assignment], labour: Labour) -> Iterator[LabourEvent]:
        """Do all of them; say what happens. In a single process, those of one kind before those of the next, where
        several are under way: they have more in common."""
        if self.jobs > 1 and len(assignments) > 1:
            yield from work_through(assignments, labour, self.jobs)
            return
        left = list(assignments)
        while left:
            turns, places = labour.turns(labour.work, left[0], 1)
            company, others = (left, []) if places == 1 else _alike(left, labour)
            yield from turns.work_through(company, _even(len(company), places))
            left = others


def _alike(assignments: Sequence[Assignment], labour: Labour) -> tuple[list[Assignment], list[Assignment]]:
    """Those of the kind of the first one, and the others."""
    kinds = [labour.kind(own) for own in assignments]
    same = [own for own, kind in zip(assignments, kinds, strict=True) if kind == kinds[0]]
    return same, [own for own, kind in zip(assignments, kinds, strict=True) if kind != kinds[0]]


class _Worker:
    """One process, and what it is doing: things of one kind at a time, which share what takes much memory."""

    def __init__(self, labour: Labour, processes: int) -> None:
        context = multiprocessing.get_context("spawn")  # a fork of a process that has used a GPU cannot use it
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, labour, processes), daemon=True)
        self.process.start()
        theirs.close()
        self.items: list[Any] = []
        self.kind: Hashable = object()  # of what it does, or did last; until then like nothing else
        self.room = 1  # until it has looked at the first one of a kind

    def takes(self, kind: Hashable) -> bool:
        """Whether it has room for one more of a kind."""
        return not self.items or (kind == self.kind and len(self.items) < self.room)

    def give(self, item: Any, kind: Hashable, share: int) -> None:
        """One more thing to do; `share` is how many of its kind it may get in all."""
        begins = kind != self.kind
        if begins:
            self.kind, self.room = kind, 1
        self.items.append(item)
        self.pipe.send((item, share if begins else None))

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


def work_through(items: Sequence[Assignment], labour: Labour, processes: int) -> Iterator[LabourEvent]:
    """A process that dies (out of memory, killed) takes only its own items with it."""
    count = min(processes, len(items))
    waiting, workers = [(item, labour.kind(item)) for item in items], [_Worker(labour, count) for _ in range(count)]
    each = math.ceil(len(items) / count)
    try:
        while waiting or any(worker.items for worker in workers):
            while found := _next_for(workers, [kind for _, kind in waiting]):
                worker, place = found
                alike = sum(kind == waiting[place][1] for _, kind in waiting)
                item, kind = waiting.pop(place)
                worker.give(item, kind, min(each, alike))
                yield "started", item, None
            ready = wait([worker.pipe for worker in workers], timeout=TICK)
            if not ready:
                yield "waiting", None, None
            for worker in [own for own in workers if own.pipe in ready]:
                event, item, said = worker.hear()
                if event == "room":
                    worker.room = said
                elif event == "done":
                    yield "done", item, said
                elif event == "died":
                    workers.remove(worker)
                    for lost in worker.items:
                        yield "died", lost, said
                    if waiting:
                        workers.append(_Worker(labour, count))
    finally:
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.end()


def _next_for(workers: Sequence[_Worker], waiting: Sequence[Hashable]) -> tuple[_Worker, int] | None:
    """Who gets what next, given the kinds of what waits: the process with the most room, and a place among them; None
    where nobody has room."""
    for worker in sorted(workers, key=lambda own: len(own.items) - own.room):
        for place, kind in enumerate(waiting):
            if worker.takes(kind):
                return worker, place
    return None


def _even(items: int, most: int) -> int:
    """How many at a time, at most `most`, so that no round of them has only a few.

    >>> _even(25, most=12)
    9
    """
    return math.ceil(items / math.ceil(items / most))


def _serve(pipe: Connection, labour: Labour, processes: int) -> None:
    """What a process does: everything that comes through the pipe, one kind after the other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and ends us by another one
    threading.Thread(target=_die_with, args=(os.getppid(),), daemon=True).start()
    try:
        with save_on_signals():
            begun = pipe.recv()
            while begun is not None:
                first, share = begun
                turns, places = labour.turns(labour.work, first, processes)
                room = _even(share, places)
                pipe.send(("room", None, room))
                turns.add(first)
                turns.open(room)
                begun = _serve_kind(pipe, turns)
    except (EOFError, KeyboardInterrupt):
        pass


def _serve_kind(pipe: Connection, turns: Turns[Any, Any]) -> tuple[Any, int] | None:
    """Everything that comes until the first of another kind, which is returned; None where there will be none."""
    under_way, asked_to_end = 1, False
    try:
        while under_way or not asked_to_end:
            while not asked_to_end and pipe.poll():
                item, share = pipe.recv()
                if share is not None:
                    return item, share
                turns.add(item)
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
    return None


def _die_with(parent: int) -> None:
    """End with the parent: one that was killed cannot end us, and a restart would write into the same folder."""
    while os.getppid() == parent:
        time.sleep(ORPHANED)
    os._exit(1)
