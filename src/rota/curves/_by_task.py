"""Memory that is one row of numbers for each task."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from rota.arrays import MANY, Ids, from_json, to_json

ALL = slice(None)
"""All tasks."""
Places = slice | Ids
"""Which tasks: all of them, or those with these numbers."""


class ByTask:
    """Arrays whose first axis is the tasks: what it remembers is all of its attributes that are arrays.

    Args:
        tasks: Their names.

    >>> class Visits(ByTask):
    ...     def __init__(self, tasks):
    ...         super().__init__(tasks)
    ...         self.seen = np.zeros(len(tasks))
    >>> Visits(["rte", "mnli"]).state_dict()
    {'rte': {'seen': 0.0}, 'mnli': {'seen': 0.0}}
    """

    def __init__(self, tasks: Sequence[str]) -> None:
        self._tasks = tuple(tasks)

    def part(self, rows: Places) -> Self:
        """The memory of some of the tasks, to be read."""
        if rows is ALL:
            return self
        found = copy.copy(self)
        for name, value in self._arrays().items():
            setattr(found, name, value[rows])
        return found

    def take_over(self, old: Self) -> None:
        """Remember of the tasks that stay what the memory of another set of tasks does."""
        place = {task: k for k, task in enumerate(old._tasks)}
        mine = [k for k, task in enumerate(self._tasks) if task in place]
        theirs = [place[self._tasks[k]] for k in mine]
        for name, value in self._arrays().items():
            value[mine] = getattr(old, name)[theirs]

    def state_dict(self) -> dict[str, Any]:
        """By the names of the tasks, whatever their order; of many tasks by array."""
        arrays = {name.lstrip("_"): value for name, value in self._arrays().items()}
        if len(self._tasks) > MANY:
            return {"arrays": {name: to_json(self._tasks, value) for name, value in arrays.items()}}
        return {task: {name: value[k].tolist() for name, value in arrays.items()} for k, task in enumerate(self._tasks)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        packed = len(self._tasks) > MANY and state.keys() == {"arrays"}
        for own, value in self._arrays().items():
            name = own.lstrip("_")
            if packed:
                value[:] = from_json(self._tasks, state["arrays"][name], value.dtype)
            else:
                value[:] = [state[task][name] for task in self._tasks]

    def _arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}
