"""A game as a log: what a policy that learns from logs gets to see."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rota.arrays import Floats
from rota.offpolicy import Log
from rota.simulation._bandit import MTLBandit
from rota.simulation._play import Play

Worth = Callable[[Floats], Floats]


def rest(missing: Floats) -> Floats:
    """What is missing to a score of 1: 1 - s."""
    return missing


def tenth(missing: Floats) -> Floats:
    """A tenth of it: the same rewards in another unit."""
    return 0.1 * missing


def likelihood(missing: Floats) -> Floats:
    """1 - exp(-L), with what is missing as the loss L (Glover & Hokamp 2019, eq. 16)."""
    return -np.expm1(-missing)


WORTHS: dict[str, Worth] = {"1 - s": rest, "0.1 (1 - s)": tenth, "1 - exp(s - 1)": likelihood}
"""What a score that rose may be worth, by formula."""


def logged(bandit: MTLBandit, game: Play, worth: Worth = rest) -> Log:
    """The log of a game of `play_together`: a pull is worth something if the arm's score is better than at its last
    pull, the more the more is missing; else nothing. First pulls have nothing to be compared with and are left out.

    >>> from rota.policies import uniform
    >>> from rota.simulation import play_together
    >>> bandit = MTLBandit(arms=3, steps=200, seed=0)
    >>> log = logged(bandit, play_together(bandit, [(uniform(bandit.tasks), 0)])[0])
    >>> log.tasks, len(log.rewards)
    (('arm0', 'arm1', 'arm2'), 197)
    """
    rewards, known = np.zeros(len(game.tasks)), np.ones(len(game.tasks), dtype=bool)
    for k in range(len(bandit.tasks)):
        pulls = np.flatnonzero(game.tasks == k)
        scores = game.values[pulls]
        known[pulls[:1]] = False
        better = scores[1:] > scores[:-1]
        rewards[pulls[1:]] = np.where(better, worth(np.maximum(1.0 - scores[1:], 0.0)), 0.0)
    return Log(bandit.tasks, game.tasks[known], game.probabilities[known], rewards[known])
