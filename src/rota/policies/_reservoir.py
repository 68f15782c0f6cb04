"""A fixed-size random sample of a stream of rewards, and the scaling of a reward by its quantiles."""

from __future__ import annotations

from bisect import insort
from typing import Any

import numpy as np

from rota.errors import RotaError


class Reservoir:
    """Scales rewards of any unit into [-1, 1] by the 20th and 80th percentile of the rewards seen so far
    (Glover & Hokamp 2019, eq. 6, after Graves et al. 2017).

    The history is kept by reservoir sampling: each reward seen is in the sample with the same probability.
    The sample is kept sorted, so that a quantile costs nothing; which member leaves is drawn by rank, which
    is as uniform as by age.

    Args:
        size: How many rewards are remembered.
        seed: Of its own generator, so that scaling never changes other draws.

    >>> reservoir = Reservoir()
    >>> [round(reservoir.scale(reward), 3) for reward in (5.0, 1.0, 9.0, 4.0, 6.0)]
    [0.0, -1.0, 1.0, -0.368, 0.625]
    """

    LOW, HIGH = 0.2, 0.8

    def __init__(self, size: int = 1000, seed: int = 0) -> None:
        if size < 2:
            raise RotaError(f"A reservoir expects room for two rewards or more. Found {size}.")
        self.size = size
        self.seen = 0
        self._sorted: list[float] = []
        self._rng = np.random.default_rng(seed)

    def scale(self, reward: float) -> float:
        """Remember `reward` and return it on the scale of the rewards remembered."""
        self._remember(reward)
        low, high = self._quantile(self.LOW), self._quantile(self.HIGH)
        if reward <= low:
            return 0.0 if high == low == reward else -1.0
        if reward >= high:
            return 1.0
        # Divided before it is doubled: the spread of two huge rewards may not be a number any more.
        return 2.0 * ((reward / 2 - low / 2) / (high / 2 - low / 2)) - 1.0

    def _remember(self, reward: float) -> None:
        self.seen += 1
        if len(self._sorted) < self.size:
            insort(self._sorted, reward)
            return
        rank = int(self._rng.integers(self.seen))  # Algorithm R
        if rank < self.size:
            del self._sorted[rank]
            insort(self._sorted, reward)

    def _quantile(self, q: float) -> float:
        position = q * (len(self._sorted) - 1)
        below = int(position)
        above = min(below + 1, len(self._sorted) - 1)
        if self._sorted[below] == self._sorted[above]:
            return self._sorted[below]  # exactly: equal rewards must not differ by rounding
        part = position - below
        return self._sorted[below] * (1.0 - part) + self._sorted[above] * part

    def state_dict(self) -> dict[str, Any]:
        return {"seen": self.seen, "sorted": list(self._sorted), "rng": self._rng.bit_generator.state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.seen = state["seen"]
        self._sorted = [float(value) for value in state["sorted"]]
        self._rng.bit_generator.state = state["rng"]
