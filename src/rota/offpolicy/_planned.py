"""A mixture for the next run, planned from the learning curves in a log."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rota.curves import Curve, expected_scores, filled, fit_curve
from rota.errors import RotaError
from rota.offpolicy._estimate import refuse_untried
from rota.offpolicy._log import Floats, Log, Source, as_log
from rota.offpolicy._reward import Reward, improving
from rota.policies import Fixed

ENTROPIES = np.geomspace(0.03, 10.0, 50)
"""Weights of the entropy that are tried, in units of the largest reward."""
CAUTION, NOISY = 0.2, 0.05  # up to so much of a uniform mixture, if a score is as noisy as this


@dataclass(frozen=True)
class Planned:
    """A planned mixture, and why.

    Args:
        mixture: For the next run.
        entropy: The λ whose mixture exp(r̄ / λ) promises most; infinite if none promises more than a uniform one.
        predicted_gain: By how much the mean score at the end should rise over that of a uniform mixture, if a reward of
            0 is a score of 1 and the largest one a score of 0.
        curves: The learning curve of each task.
    """

    mixture: Fixed
    entropy: float
    predicted_gain: float
    curves: Mapping[str, Curve]


def planned(log: Log | Source, steps: int | None = None, reward: Reward = improving) -> Planned:
    """Plan a mixture from a log alone.

    Rewards that fall say that a task is learned; how fast they fall says what more visits would bring. V_WIS does not
    know of that: it is linear in the mixture, so without a given λ it wants everything for one task. Here a learning
    curve is fitted to each task (`fit_curve`), and two mixtures are looked for that make the expected mean score at the
    end as large as possible: one of the form exp(r̄ / λ), which is the paper's with the λ found, and one without a form,
    in which every part of the budget goes where its curve promises most (`filled`). The plan is their mean, and the
    noisier the scores, the more of a uniform mixture is in it. All of it stays the same if rewards are multiplied by
    anything.

    Args:
        log: A run folder, several of them, arrays `(tasks, probabilities, rewards)`, or a `Log`.
        steps: Of the next run; by default as many as the logged ones had.
        reward: What a visit was worth, where `log` is a run; 0 stands for "no better than before".
    """
    found = as_log(log, reward)
    refuse_untried(found, np.ones(len(found.tasks)))
    largest = found.rewards.max()
    if not largest > 0:
        raise RotaError("A plan expects rewards above 0. Found none in the log: no task got better.")
    curves = [fit_curve(_scores(found, k, largest)) for k in range(len(found.tasks))]
    steps = steps or max(1, round(len(found) / len(found.starts)))
    sizes, sums = found.totals()
    uniform = np.full(len(curves), 1.0 / len(curves))
    tried = {math.inf: uniform} | {
        float(entropy * largest): softmax_of(sums / sizes, entropy * largest) for entropy in ENTROPIES
    }
    worth = {entropy: _mean_score(curves, steps, mixture) for entropy, mixture in tried.items()}
    entropy = max(worth, key=worth.__getitem__)
    caution = CAUTION * min(1.0, float(np.median([curve.noise for curve in curves])) / NOISY)
    mixture = (1 - caution) * (tried[entropy] + filled(curves, steps)) / 2 + caution * uniform
    return Planned(
        Fixed(dict(zip(found.tasks, mixture.tolist(), strict=True))),
        entropy,
        _mean_score(curves, steps, mixture) - worth[math.inf],
        dict(zip(found.tasks, curves, strict=True)),
    )


def softmax_of(means: Floats, entropy: float) -> Floats:
    """Weights exp(mean / entropy), added up to 1: what maximises the mean reward plus entropy times the entropy."""
    behind = means - means.max()
    weights = (behind == 0).astype(np.float64) if entropy == 0 else np.exp(behind / entropy)
    return np.asarray(weights / weights.sum())


def _scores(log: Log, k: int, largest: float) -> Floats:
    """The scores of a task's visits, rebuilt from its rewards: 1 less the reward where there is one, else as before. Of
    several runs the mean, visit by visit, as far as all of them go."""
    found = []
    for chosen, rewards in log.runs():
        own = rewards[chosen == k]
        paid = np.flatnonzero(own > 0)
        before = np.searchsorted(paid, np.arange(len(own)), side="right") - 1  # the last visit with a reward
        known = 1.0 - own[paid] / largest
        found.append(np.where(before >= 0, known[np.maximum(before, 0)] if len(paid) else 0.0, 0.0))
    shortest = min(map(len, found))
    if shortest < 2:
        raise RotaError(
            f"A plan expects two visits or more of each task. Found {shortest} of '{log.tasks[k]}' in a run."
        )
    return np.asarray(np.mean([own[:shortest] for own in found], axis=0))


def _mean_score(curves: list[Curve], steps: int, mixture: Floats) -> float:
    scores = [expected_scores(curve, steps, share[None]) for curve, share in zip(curves, mixture, strict=True)]
    return float(np.mean(scores))
