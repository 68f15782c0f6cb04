"""What is done, and who does it: the one interface of processes, of a Ray cluster and of SLURM."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from rota.turns import Turns

TICK = 1.0
"""Seconds after which a waiting caller hears that nothing has happened."""
HowItEnded = tuple[str, str]
"""How something ended, and what there is to say about it: "done", "left" (another process does it), "queued" (it will
be done later), "failed" (it would fail again), or "broken" (on another machine it may work)."""
LabourEvent = tuple[str, Any, Any]
"""("started", assignment, None), ("done", assignment, what was returned), ("died", assignment, how), and at intervals
("waiting", None, None)."""


class Assignment(NamedTuple):
    """Something to do in a folder of its own; plain, so that it can be sent to another machine.

    Args:
        name: What it is called.
        folder: Where, as an absolute path.
        fields: What there is to know about it.
        progress: Whether to show a bar.

    >>> Assignment("exp3s-1", "/runs/table/exp3s-1", {"method": "exp3s", "seed": 1}).progress
    False
    """

    name: str
    folder: str
    fields: dict[str, Any]
    progress: bool = False


def _one_by_one(
    work: Callable[[Assignment], HowItEnded], first: Assignment, processes: int
) -> tuple[Turns[Any, Any], int]:
    return Turns(work), 1


def _all_alike(assignment: Assignment) -> Hashable:
    return None


class Labour(NamedTuple):
    """What workers do; all are functions at the top of a module, so that another process can be told of them.

    Args:
        work: What is done with an assignment.
        turns: Makes what does several in one process, and says how many can be under way at a time, after a look at
            the first one, in each of so many processes of a machine.
        kind: Of an assignment: how many can be under way together is the same for all of one kind.

    >>> def work(assignment):
    ...     return "done", assignment.name
    >>> turns, places = Labour(work).turns(work, Assignment("one", "/runs/one", {}), 1)
    >>> places
    1
    """

    work: Callable[[Assignment], HowItEnded]
    turns: Callable[[Callable[[Assignment], HowItEnded], Assignment, int], tuple[Turns[Any, Any], int]] = _one_by_one
    kind: Callable[[Assignment], Hashable] = _all_alike


class Workers(Protocol):
    """Who does it. How many they are and where changes no number.

    >>> from rota.workers import Processes
    >>> workers: Workers = Processes(2)
    >>> workers.jobs
    2
    """

    jobs: int
    """At a time, at most."""

    def work_through(self, assignments: Sequence[Assignment], labour: Labour) -> Iterator[LabourEvent]:
        """Do all of them; say what happens."""
        ...
