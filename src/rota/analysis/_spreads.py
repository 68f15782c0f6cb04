"""Mean and standard deviation: over seeds, and across tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

LEVEL = 0.95


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over seeds; not a number where there are too few.

    >>> found = spread([0.70, 0.72, 0.74])
    >>> f"{found.mean:.2f} ± {found.std:.2f} ({found.n} seeds)"
    '0.72 ± 0.02 (3 seeds)'
    """

    mean: float
    std: float
    n: int

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the mean, by Student's t; not numbers with one seed.

        >>> low, high = spread([1.0, 2.0, 3.0]).interval
        >>> round(low, 3), round(high, 3)
        (-0.484, 4.484)
        """
        if self.n < 2:
            return np.nan, np.nan
        reach = student_limit(self.n) * self.std / float(np.sqrt(self.n))
        return self.mean - reach, self.mean + reach


@cache
def student_limit(n: int) -> float:
    """How many standard errors a 95 % interval reaches to each side of the mean of n numbers."""
    from scipy import stats  # late: it takes a moment, and not every report has two seeds

    return float(stats.t.ppf((1 + LEVEL) / 2, n - 1))


def spread(values: Iterable[float | None]) -> Spread:
    """Over the values that there are.

    >>> spread([1.0, 2.0, 3.0, None])
    Spread(mean=2.0, std=1.0, n=3)
    """
    present = [value for value in values if value is not None]
    mean = float(np.mean(present)) if present else np.nan
    std = float(np.std(present, ddof=1)) if len(present) > 1 else np.nan
    return Spread(mean, std, len(present))


def task_spread(scores: Sequence[float]) -> float:
    """Task σ: the standard deviation of scores across tasks, dividing by their number; not a number without any.

    A task with several metrics has a score for each of them.

    >>> task_spread([0.25, 0.75])
    0.25
    """
    return float(np.std(scores)) if len(scores) else np.nan
