"""The mixture with the highest expected score, between limits of every share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rota.arrays import Floats
from rota.errors import RotaError

STARTS, BEGIN, END = 4, 0.08, 0.0005
"""Best starts that are improved; the first and the last share that is moved from one task to another."""
SLACK = 1e-9


@dataclass(frozen=True)
class ShareLimits:
    """The least and the most that each task may have of the updates.

    >>> ShareLimits(np.array([0.1, 0.1]), np.array([0.9, 0.5])).holds(np.array([[0.4, 0.6], [0.5, 0.5]]))
    array([False,  True])
    """

    least: Floats
    most: Floats

    def __post_init__(self) -> None:
        if self.least.sum() > 1 + SLACK or self.most.sum() < 1 - SLACK or (self.least > self.most + SLACK).any():
            least, most = self.least.round(3).tolist(), self.most.round(3).tolist()
            raise RotaError(f"Limits of shares expect at least one mixture between them. Found {least} and {most}.")

    def holds(self, shares: Floats) -> Floats:
        """Which of these mixtures are between the limits."""
        inside = (shares >= self.least - SLACK) & (shares <= self.most + SLACK)
        return np.asarray(inside.all(axis=-1))

    def nearest(self, shares: Floats) -> Floats:
        """A mixture that is: shares beyond a limit are cut, and the others take what that leaves."""
        found = np.clip(shares, self.least, self.most)
        for _ in range(len(found)):
            missing = 1 - found.sum()
            room = self.most - found if missing > 0 else found - self.least
            if abs(missing) < SLACK or room.sum() <= 0:
                break
            found = np.clip(found + missing * room / room.sum(), self.least, self.most)
        return np.asarray(found)


def best_shares(expected: Callable[[Floats], Floats], starts: Sequence[Floats] | Floats, limits: ShareLimits) -> Floats:
    """Climb from the best of several starts: parts of the updates move from one task to another as long as that gains.

    Args:
        expected: The score of each mixture [mixtures, tasks].
        starts: Mixtures; those beyond the limits are moved inside.
        limits: Of the shares.

    >>> def expected(shares):
    ...     return -((shares - np.array([0.7, 0.2, 0.1])) ** 2).sum(axis=1)
    >>> limits = ShareLimits(np.zeros(3), np.array([0.6, 1.0, 1.0]))
    >>> best_shares(expected, [np.full(3, 1 / 3)], limits).round(2)
    array([0.6 , 0.25, 0.15])
    """
    inside = np.array([limits.nearest(np.asarray(start)) for start in starts])
    values = expected(inside)
    found = [_climb(expected, inside[k], float(values[k]), limits) for k in np.argsort(-values)[:STARTS]]
    return max(found, key=lambda one: one[1])[0]


def _climb(
    expected: Callable[[Floats], Floats], shares: Floats, value: float, limits: ShareLimits
) -> tuple[Floats, float]:
    count = len(shares)
    moves = np.zeros((count * (count - 1), count))
    for row, (giver, taker) in enumerate(itertools.permutations(range(count), 2)):
        moves[row, giver], moves[row, taker] = -1, 1
    part = BEGIN
    while part > END:
        room = np.minimum(
            np.where(moves < 0, shares - limits.least, np.inf).min(axis=1),
            np.where(moves > 0, limits.most - shares, np.inf).min(axis=1),
        )
        tried = shares + moves * np.clip(np.minimum(part, room), 0, None)[:, None]
        values = expected(tried)
        best = int(values.argmax())
        if values[best] > value + 1e-12:
            shares, value = tried[best], float(values[best])
        else:
            part /= 2
    return shares, value
