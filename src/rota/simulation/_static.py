"""The best that a fixed mixture can do in an environment."""

from __future__ import annotations

import numpy as np

from rota.curves import allotted
from rota.policies import Fixed
from rota.seeds import generator
from rota.simulation._bandit import MTLBandit

PARTS, REPEATS = 200, 4


def best_static(bandit: MTLBandit, seed: int = 0) -> Fixed:
    """The fixed mixture with the largest expected mean score at the end, with knowledge of the environment.

    The paper's oracle is not it: it needs exactly T π^O(k) pulls without forgetting, and draws vary and arms forget.
    Arms do not meet, so that the expected score of each depends on its own share alone: it is found by simulation for
    every share in steps of 1/200, and shares go where they bring most.

    Args:
        bandit: The environment.
        seed: Of the simulation.

    >>> {task: round(share, 2) for task, share in best_static(MTLBandit(arms=3, steps=100, seed=0)).mixture.items()}
    {'arm0': 0.34, 'arm1': 0.24, 'arm2': 0.41}
    """
    rng = generator(seed, "static")
    shares = np.arange(PARTS + 1) / PARTS
    gains, best, losses = (own[:, None, None] for own in (bandit.gains, bandit.best, bandit.losses))
    scores = np.zeros((len(bandit.tasks), PARTS + 1, REPEATS))
    for _ in range(bandit.steps):
        # The same luck for every share, so that neighbours differ by their share alone.
        pulled = rng.random((len(bandit.tasks), 1, REPEATS)) < shares[:, None]
        scores = np.maximum(np.where(pulled, np.minimum(scores + gains, best), scores) - losses, 0.0)
    mixture = allotted(scores.mean(axis=2))
    return Fixed(dict(zip(bandit.tasks, mixture.tolist(), strict=True)))
