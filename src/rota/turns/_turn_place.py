"""A place in which one work after the other is done, and what it has for itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class Surroundings(Protocol):
    """What a work believes to have for itself, such as a random generator of the process: put aside when it hands over,
    and back when it goes on.

    >>> class Seeded:  # the process's generator, as each work left it
    ...     def __init__(self): self.state = random.Random(0).getstate()
    ...     def enter(self): random.setstate(self.state)
    ...     def leave(self): self.state = random.getstate()
    >>> import random
    >>> from rota.turns import Turns, give_way
    >>> turns = Turns(lambda name: (random.random(), give_way(), random.random())[2], Seeded)
    >>> len({event[2] for event in turns.work_through(["a", "b"], places=2) if event[0] == "done"})  # the same numbers
    1
    """

    def enter(self) -> None: ...
    def leave(self) -> None: ...


class OverError(BaseException):
    """Nobody waits for this work any more: its thread unwinds."""


@dataclass
class SharedRequest:
    """Something that a place wants to have done together with others."""

    key: Hashable
    item: Any
    work: Callable[[Sequence[Any]], Sequence[Any]]
    result: Any = None
    error: BaseException | None = None


@dataclass(eq=False)
class TurnPlace:
    """A thread that does one work after the other, whenever it is handed the process."""

    surroundings: Surroundings
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    request: SharedRequest | None = None  # it waits for this
    seconds: float = 0.0  # of its turns, and its part of what was done together
    since: float = 0.0  # the present turn began

    def enter(self) -> None:
        self.surroundings.enter()
        self.since = time.perf_counter()

    def leave(self) -> None:
        self.seconds += time.perf_counter() - self.since
        self.surroundings.leave()


class NoSurroundings:
    def enter(self) -> None: ...
    def leave(self) -> None: ...


HERE = threading.local()
"""The turns and the place of the thread that asks."""
