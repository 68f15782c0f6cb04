"""Mean and standard deviation: over seeds, and across tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over seeds; not a number where there are too few."""

    mean: float
    std: float
    n: int


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

    >>> task_spread([0.25, 0.75])
    0.25
    """
    return float(np.std(scores)) if len(scores) else np.nan
