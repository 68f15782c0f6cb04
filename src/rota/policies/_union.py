"""One shuffled list of every batch of every task, again and again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rota.arrays import Floats
from rota.errors import RotaError
from rota.policies._base import Policy


class Union(Policy):
    """Each batch of each task exactly once per epoch, in random order: what MT-DNN does, and the *union*
    baseline of Fang & Alqatari.

    A shuffled list of batches is the same as drawing a task with probability

        p(k) = remaining batches of k / all remaining batches,

    which needs no list and says how likely each draw was.

    Args:
        batches: Batches per epoch of each task: ceil(rows / batch size).

    >>> policy, rng = Union({"rte": 1, "mrpc": 2}), np.random.default_rng(0)
    >>> sorted(policy.choose(step, rng).task for step in range(3))
    ['mrpc', 'mrpc', 'rte']
    """

    state: ClassVar = ("remaining",)
    mixable: ClassVar = False  # a floor would draw a task that has no batch left

    def __init__(self, batches: Mapping[str, int]) -> None:
        super().__init__(list(batches))
        bad = [f"{task}={count}" for task, count in batches.items() if not (count >= 1 and count % 1 == 0)]
        if bad:
            raise RotaError(f"Union expects one batch or more of each task. Found {', '.join(bad)}.")
        self.batches = np.array([int(count) for count in batches.values()], dtype=np.int64)
        self.remaining = self.batches.copy()

    def probabilities(self, step: int) -> Floats:
        share: Floats = self.remaining / self.remaining.sum()
        return share

    def welcome(self, stays: NDArray[np.bool_]) -> None:
        """Newcomers join the epoch with all their batches; others may have other batches now."""
        self.remaining = np.minimum(self.remaining, self.batches)
        if not self.remaining.any():
            self.remaining = self.batches.copy()

    def on_draw(self, k: int, step: int) -> None:
        self.remaining[k] -= 1
        if not self.remaining.any():
            self.remaining = self.batches.copy()
