"""Where a wiggly count first has a peak."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rota.arrays import Floats

SMOOTHING_WINDOW = 10
"""Steps that counts are smoothed over."""


def smoothed(values: Sequence[float] | Floats, window: int = SMOOTHING_WINDOW) -> Floats:
    """Means over a window around each value, cut off at the ends; values that are not a number are left out.

    >>> smoothed([0, 3, 6, 0], window=2).tolist()
    [0.0, 1.5, 4.5, 3.0]
    """
    values = np.asarray(values, dtype=np.float64)
    present = np.isfinite(values)
    totals = np.concatenate([[0.0], np.cumsum(np.where(present, values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(present)])
    first = np.arange(len(values)) - window // 2
    start, end = np.maximum(first, 0), np.minimum(first + window, len(values))
    among = counts[end] - counts[start]
    means: Floats = np.divide(totals[end] - totals[start], among, out=np.full(len(values), np.nan), where=among > 0)
    return means


def first_peak(counts: Sequence[float], least: float, window: int = SMOOTHING_WINDOW) -> int | None:
    """Where a count, smoothed, first reaches a local maximum of at least `least`.

    A maximum is higher than what comes before it and what comes after it, so the ends are none; where it stays at
    its height for a while, its beginning counts.

    >>> first_peak([0, 2, 0, 3, 3, 1], least=3, window=1)
    3
    """
    level = smoothed(counts, window)
    begins = np.flatnonzero(np.diff(level, prepend=np.nan) != 0)
    heights = level[begins]
    inner = heights[1:-1]
    peaks = np.flatnonzero((inner >= least) & (inner > heights[:-2]) & (inner > heights[2:]))
    return int(begins[1 + peaks[0]]) if len(peaks) else None
