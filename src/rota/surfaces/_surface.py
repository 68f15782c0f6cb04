"""What any mixture would score, from a designed set of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rota.arrays import Floats
from rota.errors import RotaError
from rota.surfaces._laws import LawName
from rota.surfaces._posterior import Posterior, posterior

LAWS: tuple[LawName, ...] = ("log-linear", "quadratic")
DRAWS = 4000
FEWEST = 6


@dataclass(frozen=True)
class Surface:
    """Laws of the scores of all tasks.

    Args:
        sources: What is mixed.
        shares: The mixtures that were trained [mixtures, sources].
        scores: Of every task that counts, one for each mixture; higher is better.
        laws: What is known about each of them.

    >>> shares = np.linspace(0.1, 0.9, 9)
    >>> mixtures = np.stack([shares, 1 - shares], axis=1)
    >>> surface = fit_surface(["rte", "mnli"], mixtures, {"rte": 0.5 + 0.2 * shares, "mnli": 0.7 + 0.1 * (1 - shares)})
    >>> surface.mean(np.array([[0.5, 0.5], [0.8, 0.2]])).round(2)
    array([0.68, 0.69])
    """

    sources: tuple[str, ...]
    shares: Floats
    scores: Mapping[str, Floats]
    laws: Mapping[str, Posterior]

    def mean(self, shares: Floats) -> Floats:
        """The expected mean score of each mixture."""
        return np.asarray(np.mean([law.mean(shares) for law in self.laws.values()], axis=0))

    def draws(self, shares: Floats, seed: int = 0, count: int = DRAWS) -> dict[str, Floats]:
        """Scores of each task [draws, mixtures] that are as likely as the runs say; for one seed always the same."""
        rng = np.random.default_rng(seed)
        noise = rng.standard_normal((count, len(self.shares), len(self.laws))) @ self._together.T
        return {task: law.draws(shares, noise[:, :, k], rng) for k, (task, law) in enumerate(self.laws.items())}

    @cached_property
    def _together(self) -> Floats:
        """A root of the correlation of the noise of tasks: those of one run share its luck."""
        errors = np.array([law.left_out for law in self.laws.values()])
        count, n = errors.shape
        scale = np.sqrt((errors**2).mean(axis=1)) + 1e-18
        found = errors @ errors.T / n / np.outer(scale, scale)
        found = (n * found + count * np.eye(count)) / (n + count)
        return np.linalg.cholesky(found)


def fit_surface(
    sources: Sequence[str], shares: Floats, scores: Mapping[str, Floats], laws: Sequence[LawName] = LAWS
) -> Surface:
    """Fit each law to each task, and keep the one that predicts mixtures better that it was not fitted to.

    Args:
        sources: What is mixed.
        shares: The mixtures that were trained [mixtures, sources].
        scores: Of every task that counts, one for each mixture; higher is better.
        laws: Which may be chosen.

    >>> rng = np.random.default_rng(0)
    >>> shares = rng.dirichlet([1, 1, 1], size=20)
    >>> falling = fit_surface(["a", "b", "c"], shares, {"a": 0.9 - 0.4 * np.exp(-6 * shares[:, 0])})
    >>> bowl = fit_surface(["a", "b", "c"], shares, {"a": 0.9 - (shares[:, 0] - 0.4) ** 2})
    >>> falling.laws["a"].kind, bowl.laws["a"].kind
    ('log-linear', 'quadratic')
    """
    if len(shares) < FEWEST:
        raise RotaError(f"Laws of mixtures expect at least {FEWEST} mixtures that were trained. Found {len(shares)}.")
    chosen = {}
    for task, own in scores.items():
        place = list(sources).index(task) if task in sources else None
        fitted = [posterior(kind, shares, own, place) for kind in laws]
        chosen[task] = min(fitted, key=lambda law: float((law.left_out**2).mean()))
    return Surface(tuple(sources), shares, dict(scores), chosen)
