"""Sources without feedback of their own borrow the learning curve of their group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rota.arrays import Floats, Ids
from rota.curves import Bank, History, Places

HEARD = 10
"""Visits after which a source has a curve of its own."""


class Groups:
    """The learning curve of each group, over the visits of all its members.

    Args:
        tasks: Names of all sources.
        groups: The group of each; who is not named has none and borrows from nobody.
    """

    def __init__(self, tasks: Sequence[str], groups: Mapping[str, str]) -> None:
        names = sorted(set(groups.values()))
        number = {name: k for k, name in enumerate(names)}
        self._of: Ids = np.array([number[groups[task]] if task in groups else -1 for task in tasks], dtype=np.int64)
        self._history = History([f"group {name}" for name in names])

    def add(self, k: int, score: float) -> None:
        """One more visit of source number `k`."""
        if self._of[k] >= 0:
            self._history.add(int(self._of[k]), score)

    def shared(self, prior: Floats) -> Floats:
        """The prior with an equal share for each group, and for each source that has none; inside a group as before."""
        inside = self._of >= 0
        sums = np.bincount(self._of[inside], prior[inside], len(self._history.visits))
        alone = int((~inside).sum())
        found = np.where(inside, 1.0, prior)
        found[inside] = prior[inside] / sums[self._of[inside]] / (len(sums) + alone)
        if alone:
            found[~inside] *= alone / (len(sums) + alone) / prior[~inside].sum()
        return np.asarray(found)

    def borrowing(self, visits: Floats, rows: Places) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Which of some sources have no curve of their own, after these visits of all, and a group that has one."""
        of = self._of[rows]
        return (of >= 0) & (visits[rows] < HEARD) & (self._history.visits[of] >= HEARD)

    def lent(self, rows: Places) -> tuple[Bank, Floats]:
        """For each of some sources the curve of its group, and the standard error of its rise."""
        bank, unsure = self._history.fitted()
        of = self._of[rows]
        return Bank(**{name: value[of] for name, value in vars(bank).items()}), unsure[of]

    def of_group(self, values: Floats, rows: Places) -> Floats:
        """For each of some sources the sum of a number over its group."""
        inside = self._of >= 0
        sums = np.bincount(self._of[inside], values[inside], len(self._history.visits))
        return np.asarray(sums[self._of[rows]])

    def take_over(self, old: Groups) -> None:
        """Groups that stay keep their curves, even with other members."""
        self._history.take_over(old._history)

    def state_dict(self) -> dict[str, object]:
        return self._history.state_dict()

    def load_state_dict(self, state: dict[str, object]) -> None:
        self._history.load_state_dict(state)
