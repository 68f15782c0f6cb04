"""What a work can ask of the others in its process; alone, it asks in vain and goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from rota.turns._taking_turns import Turns, WorkResult
from rota.turns._turn_place import HERE, Surroundings, TurnPlace


def _turns() -> Turns[Any, Any] | None:
    return getattr(HERE, "turns", None)


def give_way() -> bool:
    """Let other trainings of this process go on, if there are any; whether one did.

    >>> give_way()  # nobody else is here
    False
    """
    turns = _turns()
    return turns is not None and turns.give_way()


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


def forget_shared(useless: Callable[[Any], bool]) -> None:
    """Give up what trainings of this process had in common and nobody needs any more.

    Args:
        useless: Says of a thing whether it is such.

    >>> forget_shared(lambda thing: True)  # nobody else is here
    """
    turns = _turns()
    if turns is not None:
        for key in [key for key, thing in turns.shared.items() if useless(thing)]:
            del turns.shared[key]


def surroundings() -> Surroundings | None:
    """Those of the work that asks; None where works do not take turns.

    >>> surroundings() is None
    True
    """
    place = getattr(HERE, "place", None)
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
    place: TurnPlace | None = getattr(HERE, "place", None)
    now = time.perf_counter()
    return now if place is None else place.seconds + now - place.since
