"""Let a policy play a bandit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rota.errors import RotaError
from rota.policies import Policy
from rota.seeds import generator
from rota.simulation._bandit import MTLBandit, Pull

GameSignal = Callable[[Pull], float]


def log_gain(pull: Pull) -> float:
    """How much the log-loss fell, with the score taken for the probability of the right answer.

    >>> round(log_gain(Pull(before=0.2, after=0.4)), 3)
    0.693
    """
    return math.log(max(pull.after, 1e-3)) - math.log(max(pull.before, 1e-3))


def score_gain(pull: Pull) -> float:
    """How much the score rose.

    >>> round(score_gain(Pull(before=0.2, after=0.4)), 3)
    0.2
    """
    return pull.after - pull.before


@dataclass(frozen=True)
class Play:
    """One run, step by step.

    Args:
        tasks: Number of the task that was pulled.
        probabilities: How likely that was.
        values: What the policy heard; of a mixture that was played with others, the score of the pulled arm.
        mean_scores: Mean score over all arms after the step.

    >>> from rota.simulation import MTLBandit, play
    >>> from rota.policies import uniform
    >>> bandit = MTLBandit(arms=3, steps=100, seed=0)
    >>> game = play(bandit, uniform(bandit.tasks), seed=0)
    >>> len(game.tasks), round(game.final, 2)
    (100, 0.64)
    """

    tasks: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    values: NDArray[np.float64]
    mean_scores: NDArray[np.float64]

    @property
    def final(self) -> float:
        """Mean score at the end: what the paper compares."""
        return float(self.mean_scores[-1])


def play(bandit: MTLBandit, policy: Policy, seed: int = 0, signal: GameSignal = log_gain, noise: float = 0.0) -> Play:
    """A whole run of `policy` on `bandit`, which is reset first.

    Args:
        bandit: The environment.
        policy: Over the bandit's tasks.
        seed: Of the draws.
        signal: What the policy hears after a pull.
        noise: Standard deviation of what a batch says about a score; it is the same before and after the update, since
            it is the same batch.

    >>> from rota.policies import uniform
    >>> bandit = MTLBandit(arms=3, steps=200, seed=0)
    >>> play(bandit, bandit.oracle).final > play(bandit, uniform(bandit.tasks)).final
    True
    """
    if set(policy.tasks) != set(bandit.tasks):
        raise RotaError(f"play expects a policy over {', '.join(bandit.tasks)}. Found {', '.join(policy.tasks)}.")
    rng = generator(seed, "play")
    number = {task: k for k, task in enumerate(bandit.tasks)}
    steps = bandit.steps
    tasks = np.zeros(steps, dtype=np.int64)
    probabilities, values, means = np.zeros(steps), np.zeros(steps), np.zeros(steps)
    shifts = (noise * generator(seed, "batches").normal(size=steps)).tolist()
    bandit.reset()
    for step in range(steps):
        choice = policy.choose(step, rng)
        k = number[choice.task]
        before, after = bandit.pull(k)
        value = signal(Pull(before + shifts[step], after + shifts[step]))
        policy.observe(choice.scored(value))
        tasks[step], probabilities[step], values[step] = k, choice.probability, value
        means[step] = bandit.scores.mean()
    return Play(tasks, probabilities, values, means)
