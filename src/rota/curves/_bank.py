"""A small bank of shapes that learning curves have, for many tasks at once.

Arrays have the tasks first, then the shapes, then the places: [T, S, M]."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rota.arrays import Floats

FLOOR = 0.004  # what a block's mean may be off by, however many visits it has: curves are only nearly of these shapes

KINKS = np.arange(1, 20) / 20  # a line up to here, then nothing
TIMES = np.array([0.05, 0.1, 0.2, 0.35, 0.6, 1.0, 2.0])  # of an exponential
ONSETS = np.array([0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.85])  # a line from here on, without an end

LINES = slice(1 + len(KINKS) + len(TIMES), None)
"""Where the lines without an end stand."""
PRIOR = np.array(
    [
        0.2 * math.e,  # flat has a parameter less, which Akaike's criterion credits with a factor e
        *[0.3 / len(KINKS)] * len(KINKS),
        *[0.25 / len(TIMES)] * len(TIMES),
        0.15,  # an open line
        *[0.1 / (len(ONSETS) - 1)] * (len(ONSETS) - 1),  # and those that begin late
    ]
)
"""How much each shape is believed before anything is seen."""


def shapes(x: Floats) -> Floats:
    """All shapes from 0 to 1 over the visits that were seen (x = 1 is the last of them): [T, M] to [T, S, M]."""
    x = x[:, None, :]
    return np.concatenate(
        [
            np.zeros_like(x),
            np.minimum(x / KINKS[:, None], 1.0),
            -np.expm1(-x / TIMES[:, None]),
            np.maximum(x - ONSETS[:, None], 0.0) / (1.0 - ONSETS[:, None]),
        ],
        axis=1,
    )


@dataclass(frozen=True)
class Bank:
    """Every shape fitted to the scores of every task.

    Args:
        visits: How many were seen, [T].
        weights: Of each shape, adding up to 1, [T, S].
        starts: Its score at the beginning, [T, S].
        rises: By how much it rises over the visits that were seen, [T, S].
        blurs: Variance of the mean that it is fitted to, [T].
        tilts: Variance of its rise, [T, S].
        middles: Where on the shape that mean is, [T, S].

    >>> bank = fit_bank(np.array([[0.2, 0.5, 0.6]]), np.full((1, 3), 10.0), np.array([0.05]), np.array([30.0]))
    >>> bank.scores(np.array([[30.0, 60.0]])).round(2)
    array([[0.62, 0.64]])
    """

    visits: Floats
    weights: Floats
    starts: Floats
    rises: Floats
    blurs: Floats
    tilts: Floats
    middles: Floats

    def but(self, other: Bank, where: NDArray[np.bool_]) -> Bank:
        """The same with the curves of another for some of the tasks."""
        rows = {name: value.copy() for name, value in vars(self).items()}
        for name, value in vars(other).items():
            rows[name][where] = value[where]
        return Bank(**rows)

    @property
    def flat(self) -> Floats:
        """How much a curve is believed to be flat, [T]."""
        return np.asarray(self.weights[:, 0])

    def scores(self, visits: Floats) -> Floats:
        """Expected scores after so many visits, also beyond those that were seen: [T, M] to [T, M]."""
        return np.asarray(np.einsum("ts,tsm->tm", self.weights, self._members(visits)[1]))

    def spreads(self, visits: Floats) -> Floats:
        """Standard deviations around them: which shape is right, where a line ends, how well each was fitted."""
        g, values, extra = self._members(visits, spread=True)
        means = np.einsum("ts,tsm->tm", self.weights, values)
        fitted = self.blurs[:, None, None] + self.tilts[:, :, None] * (g - self.middles[:, :, None]) ** 2
        inside = (values - means[:, None, :]) ** 2 + extra + fitted
        return np.asarray(np.sqrt(np.einsum("ts,tsm->tm", self.weights, inside)))

    def gains(self, before: Floats, after: Floats) -> tuple[Floats, Floats]:
        """Expected gains from so many visits to so many more, and their standard deviations: [T, M] to two [T, M]."""
        old, (g, values, extra) = self._members(before), self._members(after, spread=True)
        own = values - old[1]
        means = np.einsum("ts,tsm->tm", self.weights, own)
        inside = (own - means[:, None, :]) ** 2 + extra + self.tilts[:, :, None] * (g - old[0]) ** 2
        return means, np.asarray(np.sqrt(np.einsum("ts,tsm->tm", self.weights, inside)))

    def _members(self, visits: Floats, spread: bool = False) -> tuple[Floats, Floats, Floats | float]:
        g = shapes(visits / self.visits[:, None])
        values = self.starts[:, :, None] + self.rises[:, :, None] * g
        ends = np.minimum(self.starts + self.rises, 1.0)[:, LINES, None]
        room = np.maximum(1.0 - ends, 1e-12)
        lines = values[:, LINES]
        # A line goes on, but nobody knows how far: to a plateau anywhere between its end and 1, on average.
        z = np.clip((lines - ends) / room, 0.0, 1.0)
        beyond = lines > ends
        extra: Floats | float = 0.0
        if spread:
            extra = np.zeros_like(values)
            extra[:, LINES] = np.where(beyond, room**2 * (z**2 - 2 * z**3 / 3 - (z - z**2 / 2) ** 2), 0.0)
        values[:, LINES] = np.where(beyond, ends + room * (z - z**2 / 2), lines)
        np.minimum(values, 1.0, out=values)
        return g, values, extra


def fit_bank(means: Floats, sizes: Floats, noise: Floats, visits: Floats, places: Floats | None = None) -> Bank:
    """Fit every shape to the means of blocks of visits, by weighted least squares with a rise of at least 0; a shape
    weighs as much as it was believed before times its likelihood. All in closed form.

    Args:
        means: Of blocks in their order, [T, B].
        sizes: Visits in each; 0 where there is none, [T, B].
        noise: Standard deviation of one score, [T].
        visits: All of them, [T].
        places: After how many visits each mean was, where it is not the mean of the visits themselves, [T, B].

    >>> bank = fit_bank(np.array([[0.2, 0.5, 0.6]]), np.full((1, 3), 10.0), np.array([0.05]), np.array([30.0]))
    >>> float(bank.weights.sum().round(6))
    1.0
    """
    if places is None:
        places = np.cumsum(sizes, axis=1) - (sizes - 1) / 2
    centres = places / visits[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        w = np.where(sizes > 0, 1.0 / (noise[:, None] ** 2 / sizes + FLOOR**2), 0.0)
    total = w.sum(axis=1)
    total = np.where(total > 0, total, 1.0)  # of a task that nobody has seen nothing is known but the prior
    share = w / total[:, None]
    g = shapes(centres)
    middles = np.einsum("tb,tsb->ts", share, g)
    height = np.einsum("tb,tb->t", share, means)
    away = g - middles[:, :, None]
    width = np.einsum("tb,tsb->ts", share, away**2)
    together = np.einsum("tb,tsb->ts", share * (means - height[:, None]), away)
    bent = width > 1e-12
    rises = np.where(bent, np.maximum(together, 0.0) / np.where(bent, width, 1.0), 0.0)
    starts = height[:, None] - rises * middles
    left = means[:, None, :] - starts[:, :, None] - rises[:, :, None] * g
    misfits = np.einsum("tb,tsb->ts", w, left**2)
    logs = np.log(PRIOR) - misfits / 2
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    tilts = np.where(bent, 1.0 / (np.where(bent, width, 1.0) * total[:, None]), 0.0)
    return Bank(visits, weights, starts, rises, 1.0 / total, tilts, middles)
