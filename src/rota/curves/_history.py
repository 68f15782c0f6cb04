"""What was heard of every task, in memory of fixed size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rota.curves._bank import Bank, Floats, fit_bank

KEPT = 64  # blocks of a task; when they are full, neighbours are merged
FITTED = 16  # blocks that curves are fitted to


class History:
    """Values of visits, block by block: their sums, and how much they vary from one to the next.

    Args:
        tasks: Their names.
    """

    def __init__(self, tasks: Sequence[str]) -> None:
        self._tasks, count = tuple(tasks), len(tasks)
        self.visits: Floats = np.zeros(count)
        self._sums: Floats = np.zeros((count, KEPT))
        self._sizes: Floats = np.zeros((count, KEPT))
        self._room: Floats = np.ones(count)  # visits in a full block
        self._second: Floats = np.zeros(count)  # sum of squared second differences
        self._last: Floats = np.zeros((count, 2))

    def add(self, k: int, value: float) -> None:
        """One more visit of task number `k`."""
        block = int(self.visits[k] // self._room[k])
        if block == KEPT:
            self._sums[k, : KEPT // 2] = self._sums[k, ::2] + self._sums[k, 1::2]
            self._sizes[k, : KEPT // 2] = self._sizes[k, ::2] + self._sizes[k, 1::2]
            self._sums[k, KEPT // 2 :] = self._sizes[k, KEPT // 2 :] = 0.0
            self._room[k] *= 2
            block = KEPT // 2
        self._sums[k, block] += value
        self._sizes[k, block] += 1
        if self.visits[k] >= 2:
            before, last = self._last[k]
            self._second[k] += (value - 2 * last + before) ** 2
        self._last[k] = self._last[k, 1], value
        self.visits[k] += 1

    def noise(self) -> Floats:
        """Standard deviation of one value around its curve: a smooth one has hardly any second differences."""
        return np.asarray(np.sqrt(self._second / np.maximum(self.visits - 2, 1) / 6))

    def fitted(self, starts: Floats, slopes: Floats) -> tuple[Bank, Floats]:
        """Curves of the scores start + slope · value of each task that was visited twice or more, and their noise."""
        visits = np.maximum(self.visits, 1.0)
        ends = np.cumsum(self._sizes, axis=1)
        middles = (ends - self._sizes / 2) / visits[:, None]
        place = np.minimum((middles * FITTED).astype(int), FITTED - 1) + FITTED * np.arange(len(visits))[:, None]
        count = len(visits) * FITTED
        sizes: Floats = np.bincount(place.ravel(), self._sizes.ravel(), count).astype(float).reshape(-1, FITTED)
        sums = np.bincount(place.ravel(), self._sums.ravel(), count).reshape(-1, FITTED)
        means = np.where(sizes > 0, starts[:, None] + slopes[:, None] * sums / np.maximum(sizes, 1), 0.0)
        noise = np.abs(slopes) * self.noise()
        return fit_bank(means, sizes, noise, visits), noise

    def state_dict(self) -> dict[str, Any]:
        """By the names of the tasks, whatever their order."""
        arrays = {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        return {
            task: {name.lstrip("_"): value[k].tolist() for name, value in arrays.items()}
            for k, task in enumerate(self._tasks)
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                value[:] = [state[task][name.lstrip("_")] for task in self._tasks]
