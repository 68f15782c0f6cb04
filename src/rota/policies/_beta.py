"""Beta distributions on a grid: their cumulative distributions, their quantiles, which of several is the largest."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rota.arrays import Floats

NODES = 513
"""Points of the grid of each distribution."""
SHARED = (8, 64, 4096)
"""Points per distribution at which all are compared: at least, at most, and about so many in all."""


@dataclass(frozen=True)
class Betas:
    """Several Beta distributions, of t = log(x / (1 - x)): there the densities are smooth whatever the parameters.

    Args:
        at: The grid of each distribution.
        below: The probability below each point of it.
    """

    at: Floats
    below: Floats

    @classmethod
    def of(cls, a: Floats, b: Floats) -> Betas:
        """The distributions with these parameters, which are positive."""
        mode, width = np.log(a / b), 8.0 * np.sqrt(1 / a + 1 / b)
        # Towards the ends a density falls like exp(-a |t|) or exp(-b |t|).
        low, high = mode - np.maximum(width, 16 / a), mode + np.maximum(width, 16 / b)
        at = np.linspace(low, high, NODES, axis=1)
        step = ((high - low) / (NODES - 1))[:, None]
        over = -np.logaddexp(0, at)  # log(1 - x)
        norms = np.array([math.lgamma(p) + math.lgamma(q) - math.lgamma(p + q) for p, q in zip(a, b, strict=True)])
        density = np.exp(a[:, None] * (at + over) + b[:, None] * over - norms[:, None])
        slope = density * (a[:, None] * np.exp(over) - b[:, None] * np.exp(at + over))
        below = np.zeros_like(at)
        np.cumsum((density[:, 1:] + density[:, :-1]) * (step / 2), axis=1, out=below[:, 1:])
        below -= step**2 / 12 * (slope - slope[:, :1])  # what trapezoids miss where the density bends
        below = np.maximum.accumulate(np.clip(below, 0.0, None), axis=1)
        return cls(at, below / below[:, -1:])

    def quantiles(self, level: float) -> Floats:
        """The value of x below which each lies with this probability."""
        found = [np.interp(level, below, at) for at, below in zip(self.at, self.below, strict=True)]
        return np.asarray(1 / (1 + np.exp(-np.array(found))))

    def below_at(self, grid: Floats) -> Floats:
        """The probability of each below each point of one grid."""
        return np.stack([np.interp(grid, at, own) for at, own in zip(self.at, self.below, strict=True)])

    def best(self) -> Floats:
        """How likely each is to be the largest of a draw from all of them.

        P(k) is the integral of the products of all other cumulative distributions over that of k. It is summed up over
        a grid that is dense where any of them has its mass.
        """
        count = len(self.at)
        least, most, together = SHARED
        levels = np.linspace(0, 1, max(least, min(most, together // count)) + 1)
        own = [np.interp(levels, below, at) for at, below in zip(self.at, self.below, strict=True)]
        grid = np.unique(np.concatenate([*own, self.at[:, 0], self.at[:, -1]]))
        grid = grid[grid >= self.at[:, 0].max()]  # the largest is above what any of them is above
        below = self.below_at(grid)
        logs = np.log(np.maximum(below, 1e-300))
        others = np.exp(logs.sum(0) - logs)
        sums = below[:, 0] * others[:, 0] + (np.diff(below, axis=1) * (others[:, 1:] + others[:, :-1])).sum(1) / 2
        return np.asarray(sums / sums.sum())


ROUNDED = 200  # parameters of many distributions are told apart that differ by about a part in so many
COARSE, FINE = 257, 769  # points at which many are compared: to find where the largest lies, and there
EXCLUDED = -40.0  # the logarithm of a probability that is none


def best_of_many(a: Floats, b: Floats) -> Floats:
    """How likely each of many Beta distributions is to be the largest of a draw from all of them.

    Parameters are rounded, so that thousands of them become some dozens, with how often each occurs. The largest of a
    draw lies in a short range, which a grid for all of them covers.
    """
    log_a, log_b = np.rint(np.log(a) * ROUNDED).astype(np.int64), np.rint(np.log(b) * ROUNDED).astype(np.int64)
    keys = (log_a - log_a.min()) * (int(np.ptp(log_b)) + 1) + (log_b - log_b.min())
    _, where, which, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    betas = Betas.of(np.exp(log_a[where] / ROUNDED), np.exp(log_b[where] / ROUNDED))
    coarse = np.linspace(betas.at[:, 0].max(), betas.at[:, -1].max(), COARSE)
    below_all = counts @ np.log(np.maximum(betas.below_at(coarse), 1e-300))
    low, high = int((below_all > EXCLUDED).argmax()), int((below_all > -np.exp(EXCLUDED / 2)).argmax())
    grid = np.linspace(coarse[max(low - 1, 0)], coarse[min(high + 1, COARSE - 1)], FINE)
    below = betas.below_at(grid)
    logs = np.log(np.maximum(below, 1e-300))
    others = np.exp(counts @ logs - logs)
    sums = below[:, 0] * others[:, 0] + (np.diff(below, axis=1) * (others[:, 1:] + others[:, :-1])).sum(1) / 2
    return np.asarray(sums[which] / (sums * counts).sum())
