"""Tasks by turn."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from rota.arrays import Floats
from rota.errors import RotaError
from rota.policies._base import Policy
from rota.policies._task_weights import positive_weights


class Cycle(Policy):
    """Blocks of η₁ batches of the first task, then η₂ of the second, and so on, repeated: the mixing ratio
    of AutoSeM (Guo, Pasunuru & Bansal 2019), section 3.2.

    A pure function of the step: it has nothing to remember.

    Args:
        ratio: Batches of each task per cycle, whole numbers; zero leaves a task out. The order counts.

    >>> policy, rng = Cycle({"a": 1, "b": 2}), np.random.default_rng(0)
    >>> [policy.choose(step, rng).task for step in range(6)]
    ['a', 'b', 'b', 'a', 'b', 'b']
    """

    mixable: ClassVar = False  # the exact ratio is its whole promise
    holdable: ClassVar = False  # asked at some steps only, it would leave out the tasks of the others
    ordered = True

    def __init__(self, ratio: Mapping[str, float]) -> None:
        super().__init__(list(ratio))
        positive_weights("Cycle", ratio, "a ratio")
        broken = [f"{task}={count:g}" for task, count in ratio.items() if count != int(count)]
        if broken:
            raise RotaError(f"Cycle expects whole numbers of batches. Found {', '.join(broken)}.")
        self._ends = list(itertools.accumulate(int(count) for count in ratio.values()))

    def probabilities(self, step: int) -> Floats:
        k = bisect_right(self._ends, step % self._ends[-1])
        turn = np.zeros(len(self.tasks))
        turn[k] = 1.0
        return turn

    def expected_shares(self, step: int) -> dict[str, float]:
        counts = np.diff(self._ends, prepend=0)
        return dict(zip(self.tasks, (counts / counts.sum()).tolist(), strict=True))
