"""Samplers for Optuna that remember nothing: what they propose follows from their seed and the study alone."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import intersection_search_space
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from rota.arrays import Floats
from rota.errors import RotaError
from rota.search._acquisition import PORTFOLIO, hedge_weights, portfolio
from rota.search._box import Box
from rota.search._space import Space
from rota.search._surrogate import Surrogate
from rota.search._trial_history import PROPOSAL, TrialHistory, live_before, read_history
from rota.seeds import generator, integer

GOOD = 5  # so many of the best points lend their neighbours to a space too large to list
DRAWS = 1000  # so many random points are looked at for one that is new


class PointSampler(BaseSampler):
    """Proposes whole points of a space, none of them twice as long as there are others.

    Args:
        seed: Everything random follows from it and from how many trials came before.
        space: What may be proposed; by default the numbers that all finished trials of the study have in common.
        patience: Seconds to wait for another worker that has begun a trial but not yet written down its point.
    """

    def __init__(self, seed: int = 0, *, space: Space | None = None, patience: float = 5.0) -> None:
        self.seed = seed
        self.space = space
        self.patience = patience

    @abstractmethod
    def propose(
        self, space: Space, history: TrialHistory, rng: np.random.Generator
    ) -> tuple[Floats, dict[str, Any] | None]:
        """A point, and what to note down about it."""

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        if len(study.directions) > 1:
            raise RotaError(f"{type(self).__name__} expects one objective. Found {len(study.directions)}.")
        if self.space is not None:
            return self.space.distributions()
        common = intersection_search_space(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))
        return {name: r for name, r in common.items() if isinstance(r, FloatDistribution | IntDistribution)}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        if not search_space:
            return {}
        space = self.space or Box(search_space)
        history = read_history(study, trial.number, space, self.patience)
        point, note = self.propose(space, history, generator(self.seed, "proposal", history.count))
        if note is not None:
            study._storage.set_trial_user_attr(trial._trial_id, PROPOSAL, note)
        whole = {name for name, r in search_space.items() if isinstance(r, IntDistribution)}
        return {name: int(x) if name in whole else x for name, x in space.as_params(point).items()}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Numbers that not all trials have, and choices by name, are drawn at random."""
        seed = integer(self.seed, "independent", param_name, len(live_before(study, trial.number)))
        random = RandomSampler(seed % 2**32)
        return random.sample_independent(study, trial, param_name, param_distribution)


def _new(space: Space, points: Floats, taken: Floats) -> Floats:
    """Those of `points` that are not taken."""
    rows = space.canonical(points)
    known = np.zeros(len(rows), dtype=bool)
    for row in space.canonical(taken):
        known |= (rows == row).all(axis=1)
    left: Floats = points[~known]
    return left


class RandomPoints(PointSampler):
    """Points at random."""

    def propose(
        self, space: Space, history: TrialHistory, rng: np.random.Generator
    ) -> tuple[Floats, dict[str, Any] | None]:
        drawn = space.draw(rng, DRAWS)
        new = _new(space, drawn, history.taken())
        return (new if len(new) else drawn)[0], None


class GridPoints(PointSampler):
    """The points of a grid, one after the other.

    Args:
        size: How many points the grid should have.
        space, seed, patience: See `PointSampler`.
    """

    def __init__(self, size: int, seed: int = 0, *, space: Space | None = None, patience: float = 5.0) -> None:
        super().__init__(seed, space=space, patience=patience)
        self.size = size

    def propose(
        self, space: Space, history: TrialHistory, rng: np.random.Generator
    ) -> tuple[Floats, dict[str, Any] | None]:
        points = space.grid(self.size)
        new = _new(space, points, history.taken())
        return (new if len(new) else points)[0], None


class GPHedgeSampler(RandomPoints):
    """Proposes the point that a Gaussian process finds most promising, by one of three acquisitions that have to earn
    their say: GP-Hedge (Hoffman, Brochu & de Freitas 2011), the search of AutoSeM (Guo, Pasunuru & Bansal 2019),
    section 3.3.

    Each of probability of improvement, expected improvement and upper confidence bound names its best point; one of
    them is chosen with probability softmax(η · gains), where the gain of an acquisition is the sum of the posterior
    means at the points that it named so far.

    Where this differs from the paper: the gains are computed afresh from the study's history with today's posterior,
    not added up along the way, so that the sampler has no memory and an interrupted search resumes exactly; means count
    in units of the values' standard deviation, so that η means the same for accuracies and for losses; points that
    others are working on count as average ones (constant liar) and are not proposed again.

    Args:
        seed: Everything random follows from it and from how many trials came before.
        initial: So many trials are random before the model is asked; 5 by default (scikit-optimize takes 10).
        space: What may be proposed; by default the numbers that all finished trials of the study have in common.
        kappa: κ of the upper confidence bound.
        xi: ξ, by how much a point has to be better to count as an improvement, in standard deviations of the values.
        nu: Smoothness of the Matérn kernel.
        eta: η of the softmax over gains.
        restarts: How often the fit of the hyper-parameters starts again.
        patience: Seconds to wait for another worker that has begun a trial but not yet written down its point.

    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
    >>> study = optuna.create_study(sampler=GPHedgeSampler(seed=0), direction="maximize")
    >>> study.optimize(lambda trial: -((trial.suggest_int("x", 0, 100) - 70) ** 2), n_trials=15)
    >>> abs(study.best_params["x"] - 70) <= 2
    True
    """

    def __init__(
        self,
        seed: int = 0,
        initial: int | None = None,
        kappa: float = 1.96,
        xi: float = 0.01,
        nu: float = 2.5,
        *,
        eta: float = 1.0,
        restarts: int = 2,
        space: Space | None = None,
        patience: float = 5.0,
    ) -> None:
        super().__init__(seed, space=space, patience=patience)
        self.initial = 5 if initial is None else initial
        self.kappa, self.xi, self.nu, self.eta, self.restarts = kappa, xi, nu, eta, restarts

    def propose(
        self, space: Space, history: TrialHistory, rng: np.random.Generator
    ) -> tuple[Floats, dict[str, Any] | None]:
        if history.count < self.initial or not len(history.values):
            return super().propose(space, history, rng)
        good = history.points[np.argsort(-history.values, kind="stable")[:GOOD]]
        points = _new(space, space.candidates(rng, good), history.taken())
        if not len(points):
            return super().propose(space, history, rng)
        surrogate = self._fit(space, history, rng)
        mean, deviation = surrogate.predict(space.features(points))
        best = float(surrogate.normalised(history.values).max())
        worth = portfolio(mean, deviation, best, self.kappa, self.xi)
        named = {name: _best(worth[name], mean) for name in PORTFOLIO}
        gains = self.gains(surrogate, space, history)
        k = rng.choice(len(PORTFOLIO), p=hedge_weights(gains, self.eta))
        chosen = named[PORTFOLIO[k]]
        note = {
            "chosen": PORTFOLIO[k],
            "candidates": {name: space.as_params(points[at]) for name, at in named.items()},
            "gains": dict(zip(PORTFOLIO, gains.tolist(), strict=True)),
            "mean": surrogate.center + surrogate.scale * float(mean[chosen]),
            "deviation": surrogate.scale * float(deviation[chosen]),
        }
        return points[chosen], note

    def _fit(self, space: Space, history: TrialHistory, rng: np.random.Generator) -> Surrogate:
        lie = np.full(len(history.pending), history.values.mean())
        values = np.concatenate([history.values, lie])
        seed = int(rng.integers(2**31))
        return Surrogate(space.features(history.taken()), values, self.nu, self.restarts, seed)

    @staticmethod
    def gains(surrogate: Surrogate, space: Space, history: TrialHistory) -> Floats:
        """What each acquisition has earned: the sum of the means at the points that it named."""
        if not history.proposals:
            return np.zeros(len(PORTFOLIO))
        means = [surrogate.predict(space.features(history.proposals[name]))[0] for name in PORTFOLIO]
        return np.array([mean.sum() for mean in means])


def _best(worth: Floats, mean: Floats) -> int:
    """Where the acquisition is largest; of several such points the one with the largest mean."""
    return int(np.lexsort((-np.arange(len(worth)), mean, worth))[-1])
