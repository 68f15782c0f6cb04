"""Works in threads of which one runs at a time."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from rota.turns._turn_place import HERE, NoSurroundings, OverError, SharedRequest, Surroundings, TurnPlace

TICK = 1.0  # seconds after which a waiting caller hears that nothing has happened
WorkItem = TypeVar("WorkItem")
WorkResult = TypeVar("WorkResult")


class Turns(Generic[WorkItem, WorkResult]):
    """Does several works side by side in one process, one at a time: an ordinary function, such as one that trains a
    model, hands over wherever it calls `give_way`, and wherever it wants something to be done `together`.

    Args:
        work: What is done with an item.
        surroundings: Makes those of a work.

    >>> from rota.turns import give_way
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
        self._work, self._make = work, surroundings or NoSurroundings
        self._items: queue.SimpleQueue[WorkItem] = queue.SimpleQueue()
        self._events: queue.SimpleQueue[tuple[str, Any, Any]] = queue.SimpleQueue()
        self._ready: deque[TurnPlace] = deque()  # whose turn comes next
        self._waiting: list[TurnPlace] = []  # until nobody is ready
        self._idle: list[TurnPlace] = []  # without an item
        self._places: list[TurnPlace] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()  # over the lists above, which the caller's thread touches, too
        self._running: TurnPlace | None = None
        self._over = False
        self._raised = False  # then nothing is begun any more
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
        self._places = [TurnPlace(self._make()) for _ in range(places)]
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

    def _serve(self, place: TurnPlace) -> None:
        HERE.turns, HERE.place = self, place
        try:
            self._await(place)
            while True:
                item = self._take(place)
                self._events.put(("started", item, None))
                try:
                    result = self._work(item)
                except OverError:
                    raise
                except BaseException as error:  # also that of a training that was asked to end
                    if self._over:  # it went wrong on the way out, where nobody waits for it
                        raise OverError from error
                    self._raised = True
                    self._events.put(("raised", item, error))
                else:
                    self._events.put(("done", item, result))
                self.give_way()
        except OverError:
            pass

    def _take(self, place: TurnPlace) -> WorkItem:
        while True:
            with contextlib.suppress(queue.Empty):
                if not self._raised:
                    return self._items.get_nowait()
            with self._lock:
                self._idle.append(place)
            self._pass_on(place)

    def give_way(self) -> bool:
        """Let the others go on first; whether there was one."""
        place = self._running
        assert place is not None
        with self._lock:
            if not self._ready:
                return False
            self._ready.append(place)
        self._pass_on(place)
        return True

    def together(self, key: Hashable, item: Any, work: Callable[[Sequence[Any]], Sequence[Any]]) -> Any:
        """See `rota.turns.together`."""
        place = self._running
        assert place is not None
        request = place.request = SharedRequest(key, item, work)
        with self._lock:
            self._waiting.append(place)
        self._pass_on(place)
        place.request = None
        if request.error is not None:
            raise request.error
        return request.result

    def _pass_on(self, place: TurnPlace) -> None:
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

    def _await(self, place: TurnPlace) -> None:
        place.turn.acquire()
        if self._over:
            raise OverError
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
        groups: dict[Hashable, list[SharedRequest]] = {}
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
