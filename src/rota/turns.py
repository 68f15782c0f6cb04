"""Several trainings in one process take turns, and do together what can be done together."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

__all__ = ["Surroundings", "Turns", "give_way", "own_time", "places", "shared", "surroundings", "together"]

TICK = 1.0  # seconds after which a waiting caller hears that nothing has happened
WorkItem = TypeVar("WorkItem")
WorkResult = TypeVar("WorkResult")


class Surroundings(Protocol):
    """What a work believes to have for itself, such as a random generator of the process: put aside when it hands over,
    and back when it goes on.

    >>> class Seeded:  # the process's generator, as each work left it
    ...     def __init__(self): self.state = random.Random(0).getstate()
    ...     def enter(self): random.setstate(self.state)
    ...     def leave(self): self.state = random.getstate()
    >>> import random
    >>> turns = Turns(lambda name: (random.random(), give_way(), random.random())[2], Seeded)
    >>> len({event[2] for event in turns.work_through(["a", "b"], places=2) if event[0] == "done"})  # the same numbers
    1
    """

    def enter(self) -> None: ...
    def leave(self) -> None: ...


class _OverError(BaseException):
    """Nobody waits for this work any more: its thread unwinds."""


@dataclass
class _Request:
    """Something that a place wants to have done together with others."""

    key: Hashable
    item: Any
    work: Callable[[Sequence[Any]], Sequence[Any]]
    result: Any = None
    error: BaseException | None = None


@dataclass(eq=False)
class _Place:
    """A thread that does one work after the other, whenever it is handed the process."""

    surroundings: Surroundings
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    request: _Request | None = None  # it waits for this
    seconds: float = 0.0  # of its turns, and its part of what was done together
    since: float = 0.0  # the present turn began

    def enter(self) -> None:
        self.surroundings.enter()
        self.since = time.perf_counter()

    def leave(self) -> None:
        self.seconds += time.perf_counter() - self.since
        self.surroundings.leave()


_here = threading.local()


class Turns(Generic[WorkItem, WorkResult]):
    """Does several works side by side in one process, one at a time: an ordinary function, such as one that trains a
    model, hands over wherever it calls `give_way`, and wherever it wants something to be done `together`.

    Args:
        work: What is done with an item.
        surroundings: Makes those of a work.

    >>> said = []
    >>> def count(name):
    ...     for number in range(2):
    ...         said.append((name, number))
    ...         give_way()
    ...     return len(said)
    >>> turns = Turns(count)
    >>> events = list(turns.work_through(["a", "b"], places=2))
    >>> said
    [('a', 0), ('b', 0), ('a', 1), ('b', 1)]
    >>> [event for event in events if event[0] == "done"]
    [('done', 'a', 4), ('done', 'b', 4)]
    """

    def __init__(
        self, work: Callable[[WorkItem], WorkResult], surroundings: Callable[[], Surroundings] | None = None
    ) -> None:
        self._work, self._make = work, surroundings or _Nothing
        self._items: queue.SimpleQueue[WorkItem] = queue.SimpleQueue()
        self._events: queue.SimpleQueue[tuple[str, Any, Any]] = queue.SimpleQueue()
        self._ready: deque[_Place] = deque()  # whose turn comes next
        self._waiting: list[_Place] = []  # until nobody is ready
        self._idle: list[_Place] = []  # without an item
        self._places: list[_Place] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()  # over the lists above, which the caller's thread touches, too
        self._running: _Place | None = None
        self._over = False
        self.shared: dict[Hashable, Any] = {}

    def work_through(self, items: Sequence[WorkItem], places: int) -> Iterator[tuple[str, WorkItem | None, Any]]:
        """Do all items; say what happens.

        Args:
            items: What there is to do.
            places: How many are under way at a time.

        Yields:
            ("started", item, None), ("done", item, what was returned), and at intervals ("waiting", None, None).
            An exception in one of the works ends all of them; where it is a `KeyboardInterrupt`, those under way end
            by themselves.
        """
        for item in items:
            self.add(item)
        self.open(min(places, len(items)))
        left, stopped = len(items), None
        try:
            while left:
                event = self.next_event()
                if event[0] == "raised":
                    if isinstance(event[2], Exception):
                        raise event[2]
                    stopped = stopped or event[2]  # the others are asked to end, too: they save what they have
                    left -= self.drop_waiting()
                left -= event[0] in ("done", "raised")
                if event[0] != "raised":
                    yield event
        finally:
            self.close()
        if stopped is not None:
            raise stopped

    def drop_waiting(self) -> int:
        """Forget the items that are not begun yet; how many."""
        dropped = 0
        with contextlib.suppress(queue.Empty):
            while True:
                self._items.get_nowait()
                dropped += 1
        return dropped

    @property
    def places(self) -> int:
        """How many works are under way at a time."""
        return len(self._places)

    def open(self, places: int) -> None:
        """Begin with so many places."""
        self._places = [_Place(self._make()) for _ in range(places)]
        self._threads = [threading.Thread(target=self._serve, args=(own,), daemon=True) for own in self._places]
        self._ready.extend(self._places)
        for thread in self._threads:
            thread.start()
        self._wake()

    def add(self, item: WorkItem) -> None:
        """One more thing to do."""
        self._items.put(item)
        with self._lock:
            self._ready.extend(self._idle)
            self._idle.clear()
        self._wake()

    def next_event(self, timeout: float = TICK) -> tuple[str, Any, Any]:
        """What happened next; ("waiting", None, None) if nothing did for a while."""
        try:
            return self._events.get(timeout=timeout)
        except queue.Empty:
            return "waiting", None, None

    def close(self) -> None:
        """Nothing is done any more; what is under way is broken off where it waits."""
        self._over = True
        for place in self._places:
            place.turn.release()
        for thread in self._threads:
            thread.join()

    # Inside of the threads

    def _serve(self, place: _Place) -> None:
        _here.turns, _here.place = self, place
        try:
            self._await(place)
            while True:
                item = self._take(place)
                self._events.put(("started", item, None))
                try:
                    result = self._work(item)
                except _OverError:
                    raise
                except BaseException as error:  # also that of a training that was asked to end
                    self._events.put(("raised", item, error))
                else:
                    self._events.put(("done", item, result))
                self.give_way()
        except _OverError:
            pass

    def _take(self, place: _Place) -> WorkItem:
        while True:
            try:
                item = self._items.get_nowait()
            except queue.Empty:
                with self._lock:
                    self._idle.append(place)
                self._pass_on(place)
            else:
                return item

    def give_way(self) -> None:
        """Let the others go on first."""
        place = self._running
        assert place is not None
        with self._lock:
            if not self._ready:
                return
            self._ready.append(place)
        self._pass_on(place)

    def together(self, key: Hashable, item: Any, work: Callable[[Sequence[Any]], Sequence[Any]]) -> Any:
        """See `together` of this module."""
        place = self._running
        assert place is not None
        request = place.request = _Request(key, item, work)
        with self._lock:
            self._waiting.append(place)
        self._pass_on(place)
        place.request = None
        if request.error is not None:
            raise request.error
        return request.result

    def _pass_on(self, place: _Place) -> None:
        """Hand over from a place, and wait until it may go on."""
        place.leave()
        self._running = None
        if not self._ready and self._waiting and not self._over:
            self._do_together()
        with self._lock:
            following = self._ready.popleft() if self._ready else None
            self._running = following
        if following is place:
            place.enter()
            return
        if following is not None:
            following.turn.release()
        self._await(place)

    def _await(self, place: _Place) -> None:
        place.turn.acquire()
        if self._over:
            raise _OverError
        place.enter()

    def _wake(self) -> None:
        """Let the next one go on, if none does."""
        with self._lock:
            if self._running is not None or not self._ready:
                return
            self._running = self._ready.popleft()
            following = self._running
        following.turn.release()

    def _do_together(self) -> None:
        """Everybody waits: do what they want, those with the same key at once, in the order of the places."""
        waiting, self._waiting = sorted(self._waiting, key=self._places.index), []
        groups: dict[Hashable, list[_Request]] = {}
        for place in waiting:
            assert place.request is not None
            groups.setdefault(place.request.key, []).append(place.request)
        began = time.perf_counter()
        for requests in groups.values():
            try:
                results = requests[0].work([request.item for request in requests])
            except BaseException as error:
                for request in requests:
                    request.error = error
            else:
                for request, result in zip(requests, results, strict=True):
                    request.result = result
        each = (time.perf_counter() - began) / len(waiting)
        for place in waiting:
            place.seconds += each
        with self._lock:
            self._ready.extend(waiting)


class _Nothing:
    def enter(self) -> None: ...
    def leave(self) -> None: ...


def _turns() -> Turns[Any, Any] | None:
    return getattr(_here, "turns", None)


def give_way() -> None:
    """Let other trainings of this process go on, if there are any.

    >>> give_way()  # nobody else is here
    """
    turns = _turns()
    if turns is not None:
        turns.give_way()


def together(key: Hashable, item: Any, work: Callable[[Sequence[Any]], Sequence[Any]]) -> Any:
    """What `work` makes of an item, together with those of others in this process who ask for the same: it is done once
    everybody else waits for such a thing, too.

    Args:
        key: Same key, same work.
        item: This one's.
        work: Gets the items of all who ask, returns a result for each.

    >>> together("doubled", 3, lambda items: [2 * item for item in items])  # nobody else is here
    6
    """
    turns = _turns()
    return work([item])[0] if turns is None else turns.together(key, item, work)


def shared(key: Hashable, make: Callable[[], WorkResult]) -> WorkResult:
    """What trainings of this process have in common; a new one where there is only one training.

    Args:
        key: Same key, same thing.
        make: Makes it for the first who asks.

    >>> shared("list", list)
    []
    """
    turns = _turns()
    if turns is None:
        return make()
    if key not in turns.shared:
        turns.shared[key] = make()
    found: WorkResult = turns.shared[key]
    return found


def surroundings() -> Surroundings | None:
    """Those of the work that asks; None where works do not take turns.

    >>> surroundings() is None
    True
    """
    place = getattr(_here, "place", None)
    return None if place is None else place.surroundings


def places() -> int:
    """How many works this process does side by side.

    >>> places()  # nobody else is here
    1
    """
    turns = _turns()
    return 1 if turns is None else turns.places


def own_time() -> float:
    """A clock in seconds that stands still while other works go on.

    >>> began = own_time()
    >>> own_time() >= began
    True
    """
    place: _Place | None = getattr(_here, "place", None)
    now = time.perf_counter()
    return now if place is None else place.seconds + now - place.since
