"""Is one method better than another? Differences seed by seed, with an interval that says how far to trust them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rota.analysis._power import power, seeds_for
from rota.analysis._spreads import LEVEL, student_limit
from rota.errors import RotaError

BOOTSTRAP_SEEDS = 10  # below, resampling so few numbers gives intervals that are far too narrow
RESAMPLES = 10_000

Interval = Literal["t", "bootstrap"]


@dataclass(frozen=True)
class Difference:
    """How much higher one method is than another on the same seeds.

    Args:
        mean: Over the seeds.
        error: The standard error of that mean; not a number with one seed.
        n: Seeds that both have.
        low: Where the 95 % interval begins; not a number with one seed.
        high: Where it ends.

    >>> found = paired({0: 0.72, 1: 0.75, 2: 0.71}, {0: 0.70, 1: 0.71, 2: 0.70})
    >>> found.tells, found.seeds_needed
    (False, 6)
    """

    mean: float
    error: float
    n: int
    low: float = np.nan
    high: float = np.nan

    @property
    def tells(self) -> bool:
        """Whether it is more than noise: at least three seeds, and an interval without zero."""
        return self.n >= 3 and abs(self.mean) > 1e-12 and not self.low <= 0 <= self.high

    @property
    def seeds_needed(self) -> int | None:
        """Seeds with which a difference of this size and spread is found four times in five; None where no sensible
        number does, or where nothing is known of the spread."""
        if self.n < 2 or abs(self.mean) <= 1e-12:
            return None
        if self.error == 0:
            return 3
        size = abs(self.mean) / self.deviation
        return seeds_for(lambda n: power(size, n))

    @property
    def deviation(self) -> float:
        """The standard deviation of the differences between seeds; not a number with one seed."""
        return self.error * float(np.sqrt(self.n))


def paired(one: Mapping[int, float], other: Mapping[int, float], interval: Interval = "t") -> Difference:
    """Compare scores by seed, on the seeds that both have.

    Args:
        one: Scores by seed.
        other: What they are compared with.
        interval: "t": of the paired t test; "bootstrap": from resampled seeds, studentised, from ten seeds on.

    >>> found = paired({0: 0.75, 1: 0.5, 2: 0.25}, {0: 0.5, 1: 0.5})
    >>> found.mean, found.error, found.n, round(found.low, 3), round(found.high, 3)
    (0.125, 0.125, 2, -1.463, 1.713)
    """
    differences = np.array([one[seed] - other[seed] for seed in one if seed in other], dtype=np.float64)
    n = len(differences)
    if n < 2:
        return Difference(float(differences.mean()) if n else np.nan, np.nan, n)
    mean, error = float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(n))
    if interval == "bootstrap":
        if n < BOOTSTRAP_SEEDS:
            raise RotaError(f"A bootstrap interval expects {BOOTSTRAP_SEEDS} seeds or more. Found {n}.")
        below, above = _studentised(differences)
    else:
        above = student_limit(n)
        below = -above
    return Difference(mean, error, n, mean - above * error, mean - below * error)


def _studentised(differences: NDArray[np.float64]) -> tuple[float, float]:
    """Quantiles of (mean − truth) / error, from resampled seeds."""
    rng = np.random.default_rng(0)  # the same runs give the same page
    drawn = differences[rng.integers(len(differences), size=(RESAMPLES, len(differences)))]
    errors = drawn.std(axis=1, ddof=1) / np.sqrt(len(differences))
    spread = errors > 0  # the same seed each time says nothing
    if not spread.any():
        return 0.0, 0.0
    ratios = (drawn.mean(axis=1)[spread] - differences.mean()) / errors[spread]
    low, high = np.quantile(ratios, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
