"""What was heard of every task, in memory of fixed size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rota.arrays import Floats
from rota.curves._bank import Bank, fit_bank
from rota.curves._by_task import ByTask

KEPT = 64  # blocks of a task; when they are full, neighbours are merged
FITTED = 16  # blocks that curves are fitted to
SURE = 3.0  # standard errors beyond which a difference of blocks is no chance


class History(ByTask):
    """Values of visits, block by block: their sums, and how much they vary from one to the next.

    Args:
        tasks: Their names.

    >>> history = History(["rte", "mrpc"])
    >>> for visit in range(40):
    ...     history.add(0, 2.0 - visit / 40)
    ...     history.add(1, 1.0)
    >>> bank, noise = history.fitted(starts=1.0, slopes=-0.5)
    >>> bank.flat.round(1)
    array([0. , 0.4])
    """

    def __init__(self, tasks: Sequence[str]) -> None:
        super().__init__(tasks)
        count = len(tasks)
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

    def take(self, k: int, other: History) -> None:
        """Remember of task number `k` what another history does now."""
        for name, value in self._arrays().items():
            value[k] = getattr(other, name)[k]

    def but(self, other: History, where: NDArray[np.bool_]) -> History:
        """A new one with the rows of another for some of the tasks."""
        found = History(self._tasks)
        for name, value in found._arrays().items():
            value[:] = getattr(self, name)
            value[where] = getattr(other, name)[where]
        return found

    def blocks(self) -> tuple[Floats, Floats]:
        """Mean value and number of visits of each block, a row for each task; 0 where there is none yet."""
        return self._sums / np.maximum(self._sizes, 1.0), self._sizes.copy()

    def noise(self) -> Floats:
        """Standard deviation of one value around its curve: a smooth one has hardly any second differences."""
        return np.asarray(np.sqrt(self._second / np.maximum(self.visits - 2, 1) / 6))

    def fitted(
        self, starts: Floats | float = 0.0, slopes: Floats | float = 1.0, places: History | None = None
    ) -> tuple[Bank, Floats]:
        """Curves of the scores start + slope · value of each task that was visited twice or more, and the standard
        errors of their rises.

        Args:
            starts, slopes: Make scores of values, by task or for all of them.
            places: Where values came seldom: after how many visits each of them did, one added with each value.
        """
        means, sizes = self._binned(starts, slopes)
        noise, visits = np.abs(slopes) * self.noise(), self.visits
        found = None
        if places is not None:
            found, visits = places._binned(0.0, 1.0)[0], places._last[:, 1]
        bank = fit_bank(means, sizes, noise, np.maximum(visits, 1.0), found)
        return bank, 2.0 * noise / np.sqrt(np.maximum(self.visits, 1.0))

    def fallen(self, starts: Floats | float = 0.0, slopes: Floats | float = 1.0) -> Floats:
        """How far each such score has fallen since it was best; 0 where it never rose, or where it may be noise."""
        means, sizes = self._binned(starts, slopes)
        pairs = sizes[:, 1:] + sizes[:, :-1]
        smooth = (sizes[:, 1:] * means[:, 1:] + sizes[:, :-1] * means[:, :-1]) / np.maximum(pairs, 1.0)
        sure = SURE * np.abs(slopes) * self.noise() * np.sqrt(2.0 / np.maximum(pairs.min(axis=1), 1.0))
        best = smooth.max(axis=1)
        rose, fell = best - smooth[:, 0] > sure, best - smooth[:, -1]
        return np.where((pairs.min(axis=1) > 0) & rose & (fell > sure), fell, 0.0)

    def _binned(self, starts: Floats | float, slopes: Floats | float) -> tuple[Floats, Floats]:
        """Mean scores and numbers of visits of a few blocks of about equal length."""
        visits = np.maximum(self.visits, 1.0)
        ends = np.cumsum(self._sizes, axis=1)
        middles = (ends - self._sizes / 2) / visits[:, None]
        place = np.minimum((middles * FITTED).astype(int), FITTED - 1) + FITTED * np.arange(len(visits))[:, None]
        count = len(visits) * FITTED
        sizes: Floats = np.bincount(place.ravel(), self._sizes.ravel(), count).astype(float).reshape(-1, FITTED)
        sums = np.bincount(place.ravel(), self._sums.ravel(), count).reshape(-1, FITTED)
        means = np.reshape(starts, (-1, 1)) + np.reshape(slopes, (-1, 1)) * sums / np.maximum(sizes, 1)
        return np.where(sizes > 0, means, 0.0), sizes
