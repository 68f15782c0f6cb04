"""Scores of mixtures that are known, and runs that measure them with noise."""

from __future__ import annotations

import numpy as np

from rota.surfaces import ShareLimits, best_shares, designed_mixtures, find_headroom, fit_surface, plain_mixtures

TASKS = ["a", "b", "c", "d"]
COUNT = len(TASKS)


def power_laws(rng, count=COUNT, size=1.0):
    """Each task learns from its own share by a power law, and a little from others: neither of the two laws."""
    top, drop = rng.uniform(0.6, 0.95, count), size * rng.uniform(0.1, 0.4, count)
    scale, power = rng.uniform(0.02, 0.3, count), rng.uniform(0.5, 1.5, count)
    cross = size * rng.normal(0, 0.03, (count, count))
    np.fill_diagonal(cross, 0)
    return lambda shares: top - drop * (1 + shares / scale) ** -power + shares @ cross


def log_linear(rng, count=COUNT):
    slopes = rng.normal(0, 1, (count, count))
    np.fill_diagonal(slopes, rng.uniform(2, 6, count))
    ceiling, level = rng.uniform(0.6, 0.95, count), rng.uniform(np.log(0.1), np.log(0.4), count)
    return lambda shares: ceiling - np.exp(level + slopes.mean(axis=1) - shares @ slopes.T)


def bowls(rng, count=COUNT):
    level, depth = rng.uniform(0.5, 0.9, count), rng.uniform(0.05, 0.4, count)
    peak = rng.dirichlet(np.full(count, 2.0), size=count)
    return lambda shares: level - depth * ((shares[:, None] - peak) ** 2).sum(axis=2)


def nearly_flat(rng, count=COUNT):
    return power_laws(rng, count, size=0.02)


def flat(rng, count=COUNT):
    level = rng.uniform(0.5, 0.9, count)
    return lambda shares: np.broadcast_to(level, (len(shares), count))


class Problem:
    """A truth, a design, and runs with noise that tasks of one run share in part."""

    def __init__(self, make, seed, noise=0.006, mixtures=28, shared=0.4):
        rng = np.random.default_rng([seed, 7])
        self.truth = make(rng)
        sizes = dict(zip(TASKS, rng.integers(300, 9000, len(TASKS)).tolist(), strict=True))
        self.plain = plain_mixtures(sizes)
        self.shares = np.array([[*one.values()] for one in designed_mixtures(sizes, mixtures, seed).values()])
        luck = np.sqrt(1 - shared**2) * rng.normal(0, noise, (mixtures, len(TASKS)))
        luck += shared * rng.normal(0, noise, (mixtures, 1))
        self.scores = dict(zip(TASKS, (self.truth(self.shares) + luck).T, strict=True))
        self.limits = ShareLimits(self.shares.min(axis=0), self.shares.max(axis=0))

    def true_mean(self, mixture):
        return float(self.truth(np.array([[mixture[task] for task in TASKS]])).mean())

    def most(self):
        """The highest true mean score of any mixture between the limits."""
        rng = np.random.default_rng(0)
        starts = [*self.shares, *rng.dirichlet(np.ones(len(TASKS)), size=200)]
        return self.truth(best_shares(lambda own: self.truth(own).mean(axis=1), starts, self.limits)[None]).mean()

    def solve(self):
        return find_headroom(fit_surface(TASKS, self.shares, self.scores), self.plain)


class Outcome:
    """What was said of one problem, and what was true."""

    def __init__(self, make, seed, **settings):
        problem = Problem(make, seed, **settings)
        self.found = problem.solve()
        self.gain = problem.true_mean(self.found.mixture) - problem.true_mean(problem.plain[self.found.plain])
        self.said = self.found.gain.mean
        self.covered = self.found.gain.low - 1e-9 <= self.gain <= self.found.gain.high + 1e-9
        self.headroom = problem.most() - max(problem.true_mean(own) for own in problem.plain.values())
