"""Memory that is one row of numbers for each task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class ByTask:
    """Arrays whose first axis is the tasks: what it remembers is all of its attributes that are arrays.

    Args:
        tasks: Their names.
    """

    def __init__(self, tasks: Sequence[str]) -> None:
        self._tasks = tuple(tasks)

    def state_dict(self) -> dict[str, Any]:
        """By the names of the tasks, whatever their order."""
        arrays = self._arrays()
        return {
            task: {name.lstrip("_"): value[k].tolist() for name, value in arrays.items()}
            for k, task in enumerate(self._tasks)
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, value in self._arrays().items():
            value[:] = [state[task][name.lstrip("_")] for task in self._tasks]

    def _arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}
