"""Do the laws know mixtures that they were not fitted to?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rota.arrays import Floats
from rota.surfaces._find_headroom import LEVEL
from rota.surfaces._surface import LAWS, Surface, fit_surface

FOLDS = 6


@dataclass(frozen=True)
class HeldOut:
    """Predictions of mixtures that the laws had not seen.

    Args:
        predicted: Mean score of every mixture, from laws that were fitted without it.
        measured: What it scored.
        ranks: Rank correlation of the two, for each task.
        covered: Share of scores inside their 95 % intervals.

    >>> HeldOut(np.array([0.5, 0.6, 0.7]), np.array([0.4, 0.8, 0.6]), {}, 0.9).rank
    0.5
    """

    predicted: Floats
    measured: Floats
    ranks: Mapping[str, float]
    covered: float

    @property
    def rank(self) -> float:
        """Rank correlation of predicted and measured mean scores."""
        return rank_correlation(self.predicted, self.measured)


def held_out(surface: Surface, folds: int = FOLDS, seed: int = 0) -> HeldOut:
    """Fit the laws again without each part of the mixtures in turn, and predict that part.

    Args:
        surface: Whose mixtures and scores.
        folds: How many parts.
        seed: Of the parts and of the intervals.

    >>> shares = np.random.default_rng(0).dirichlet([1, 1], size=12)
    >>> surface = fit_surface(["a", "b"], shares, {"a": 0.5 + 0.3 * shares[:, 0], "b": 0.6 + 0.1 * shares[:, 1]})
    >>> round(held_out(surface, folds=3).rank, 2)
    1.0
    """
    n = len(surface.shares)
    order = np.random.default_rng(seed).permutation(n)
    predicted = {task: np.empty(n) for task in surface.scores}
    inside = []
    for part in np.array_split(order, folds):
        rest = np.setdiff1d(order, part)
        scores = {task: own[rest] for task, own in surface.scores.items()}
        again = fit_surface(surface.sources, surface.shares[rest], scores, LAWS)
        rng = np.random.default_rng([seed, int(part[0])])
        for task, draws in again.draws(surface.shares[part], seed).items():
            law, own = again.laws[task], surface.scores[task][part]
            predicted[task][part] = law.mean(surface.shares[part])
            noise = rng.standard_normal(draws.shape) * np.sqrt(law.weights @ law.variance)
            low, high = np.quantile(draws + noise, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
            inside.append((low <= own) & (own <= high))
    ranks = {task: rank_correlation(predicted[task], own) for task, own in surface.scores.items()}
    measured = np.mean(list(surface.scores.values()), axis=0)
    return HeldOut(np.mean(list(predicted.values()), axis=0), measured, ranks, float(np.concatenate(inside).mean()))


def rank_correlation(one: Floats, other: Floats) -> float:
    """Spearman's; not a number where one of them does not vary.

    >>> rank_correlation(np.array([1.0, 2.0, 2.0, 5.0]), np.array([10.0, 20.0, 20.0, 21.0]))
    1.0
    """
    ranks = [_ranks(own) for own in (one, other)]
    spread = [float(own.std()) for own in ranks]
    if min(spread) == 0:
        return float("nan")
    return round(
        float(np.mean((ranks[0] - ranks[0].mean()) * (ranks[1] - ranks[1].mean())) / (spread[0] * spread[1])), 12
    )


def _ranks(values: Floats) -> Floats:
    """Equal values share the mean of their ranks."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count - 1) / 2)[place])
