"""The MTL bandit: tasks with learning curves and forgetting, no network."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rota.arrays import Floats
from rota.errors import RotaError
from rota.policies import Fixed
from rota.seeds import generator


class Pull(NamedTuple):
    """The score of the pulled arm before and after.

    >>> bandit = MTLBandit(arms=3, steps=100, seed=0)
    >>> first, second = bandit.pull(0), bandit.pull(0)
    >>> first.before, second.before == first.after, second.after > second.before
    (0.0, True, True)
    """

    before: float
    after: float


class MTLBandit:
    """A multi-task training without a network (Glover & Hokamp 2019, section 4.1).

    Drawn once per environment: the oracle mixture π^O ~ Dirichlet(2, …, 2); for each arm its best score
    MaxP ~ U[0.5, 1], its gain per pull LI = MaxP / (T π^O) and its loss per step FI = U[0, 0.01] · LI. A pull
    of arm k adds LI(k) up to MaxP(k); then every arm forgets FI. Pulled exactly T π^O(k) times and
    without forgetting, every arm reaches exactly its best.

    Args:
        arms: Number of tasks.
        steps: Length T of a run; the paper does not print it.
        seed: Of the environment.

    >>> bandit = MTLBandit(arms=3, steps=100, seed=0)
    >>> bandit.pull(0).after > 0.0
    True
    """

    def __init__(self, arms: int = 8, steps: int = 10_000, seed: int = 0) -> None:
        if arms < 1 or steps < 1:
            raise RotaError(f"MTLBandit expects one arm and one step or more. Found arms={arms}, steps={steps}.")
        rng = generator(seed, "environment")
        self.steps = steps
        self.tasks = tuple(f"arm{k}" for k in range(arms))
        mixture = rng.dirichlet(np.full(arms, 2.0))
        self.oracle = Fixed(dict(zip(self.tasks, mixture.tolist(), strict=True)))
        self.best: Floats = rng.uniform(0.5, 1.0, arms)  # MaxP
        self.gains: Floats = self.best / (steps * mixture)  # LI
        self.losses: Floats = rng.uniform(0.0, 0.01, arms) * self.gains  # FI
        self.reset()

    def reset(self) -> None:
        """Forget everything that was learned."""
        self.scores: Floats = np.zeros(len(self.tasks))

    def pull(self, k: int) -> Pull:
        """Train one step on arm number `k`."""
        before = float(self.scores[k])
        self.scores[k] = min(before + self.gains[k], self.best[k])
        np.maximum(self.scores - self.losses, 0.0, out=self.scores)
        return Pull(before, float(self.scores[k]))
