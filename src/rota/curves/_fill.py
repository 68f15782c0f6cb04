"""Spend a budget of steps where curves predict the largest gain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rota.arrays import Floats
from rota.curves._curve import Curve

GRID = 300
"""Parts into which the budget is cut."""
EQUAL = 1e-12  # gains that differ by no more than rounding does


def expected_scores(curve: Curve, steps: int, shares: Floats) -> Floats:
    """The expected score of a task that gets each of these shares of the steps. The visits vary as those of a coin that
    is tossed for each step; three points stand for them (Gauss–Hermite).

    >>> from rota.curves import fit_curve
    >>> curve = fit_curve(1 - np.exp(-np.arange(60) / 20))
    >>> expected_scores(curve, steps=100, shares=np.array([0.1, 0.5, 0.9])).round(2)
    array([0.35, 0.91, 1.  ])
    """
    mean, spread = steps * shares, np.sqrt(3 * steps * shares * (1 - shares))
    found: Floats = 2 / 3 * curve(mean) + (curve(np.maximum(mean - spread, 0)) + curve(mean + spread)) / 6
    return found


def filled(curves: Sequence[Curve], steps: int, floor: float = 0.25) -> Floats:
    """The mixture with the largest expected mean score: the budget is cut into parts, and each part goes where it
    brings most. Later parts of a task are never taken to bring more than earlier ones.

    Args:
        curves: Of the tasks.
        steps: The budget.
        floor: Share of a fair share that every task gets.

    >>> from rota.curves import fit_curve
    >>> slow, done = fit_curve(np.arange(60) / 200), fit_curve(np.full(60, 0.9))
    >>> filled([slow, done], steps=100).round(2)
    array([0.88, 0.12])
    """
    least = floor / len(curves)
    rest = 1 - floor
    shares = least + rest * np.arange(GRID + 1) / GRID
    return least + rest * allotted(np.stack([expected_scores(curve, steps, shares) for curve in curves]))


def allotted(scores: Floats) -> Floats:
    """Cut a budget into equal parts and give each part to the task where it brings most; parts that bring no gain are
    spread evenly.

    Args:
        scores: Of each task (row) with 0, 1, 2, … all parts.

    >>> allotted(np.array([[0.0, 0.5, 0.6, 0.6], [0.0, 0.2, 0.4, 0.5]])).round(2)
    array([0.33, 0.67])
    """
    return shared_out(np.diff(scores, axis=1))


def shared_out(gains: Floats, lean: Floats | None = None) -> Floats:
    """The same from what each further part brings. Parts that bring equally much are shared equally, so that the order
    of the tasks does not matter.

    Args:
        gains: Of each task (row) by its first, second, … part.
        lean: Added to all gains of a task, so that equals are told apart.

    >>> shared_out(np.array([[0.5, 0.1, 0.0], [0.2, 0.2, 0.1]])).round(2)
    array([0.33, 0.67])
    """
    count, parts = gains.shape
    gains = gains.copy()
    for k in np.flatnonzero((np.diff(gains, axis=1) > EQUAL).any(axis=1)):  # few: most curves flatten out
        gains[k] = _falling(gains[k])
    if lean is not None:
        gains += lean[:, None]
    last = np.partition(gains, -parts, axis=None)[-parts]  # what the last part brings
    least = max(float(last), 0.0) + EQUAL
    won = (gains > least).sum(axis=1).astype(np.float64)
    tied = (np.abs(gains - last) <= EQUAL).sum(axis=1) if last > EQUAL else np.ones(count)
    return np.asarray((won + (parts - won.sum()) * tied / tied.sum()) / parts)


def _falling(gains: Floats) -> Floats:
    """The nearest sequence that never rises (pool adjacent violators)."""
    blocks: list[tuple[float, int]] = []
    for gain in gains.tolist():
        total, size = gain, 1
        while blocks and blocks[-1][0] / blocks[-1][1] < total / size:
            before, count = blocks.pop()
            total, size = total + before, size + count
        blocks.append((total, size))
    return np.repeat([total / size for total, size in blocks], [size for _, size in blocks])
