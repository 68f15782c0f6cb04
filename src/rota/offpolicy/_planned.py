"""A mixture for the next run, planned from the learning curves in a log."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rota.arrays import Floats
from rota.curves import Curve, expected_scores, filled, fit_curve
from rota.errors import RotaError
from rota.offpolicy._estimate import refuse_untried
from rota.offpolicy._log import Log, LogSource, as_log
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
        entropy: The λ with the largest predicted score; infinite if no mixture is predicted to beat the logged one.
        predicted_gain: By how much the mean score at the end should rise over that of the logged mixture, if a reward
            of 0 is a score of 1 and the largest one a score of 0. Auxiliary tasks do not count.
        curves: The learning curve of each task.

    >>> rewards = [k % 2 * (1 - k / 100) for k in range(100)]  # nothing more is to be earned from the first task
    >>> plan = planned((["learned", "learning"] * 50, [0.5] * 100, rewards))
    >>> plan.predicted_gain > 0, plan.mixture.mixture["learning"] > 0.8
    (True, True)
    """

    mixture: Fixed
    entropy: float
    predicted_gain: float
    curves: Mapping[str, Curve]


def planned(log: Log | LogSource, steps: int | None = None, reward: Reward = improving) -> Planned:
    """Plan a mixture from a log alone.

    Rewards fall as a task is learned; how fast they fall predicts what more visits would bring. V_WIS ignores that: it
    is linear in the mixture, so without a given λ it gives everything to one task. Here a learning curve is fitted to
    each task (`fit_curve`), and two mixtures are looked for that make the expected mean score at the end as large as
    possible: one of the form p(k) exp(r̄(k) / λ), with p the logged mixture, which is the paper's for a uniform log
        with the λ found; and one without a form, in which every part of the budget goes where the predicted gain is
        largest (`filled`). The plan is their mean, and the noisier the scores, the more of the logged mixture is in
    it. Scaling all rewards does not change the plan.

    An auxiliary task keeps its logged share: its own curve does not show what it does for other tasks.

    Args:
        log: A run folder, several of them, arrays `(tasks, probabilities, rewards)`, or a `Log`.
        steps: Of the next run; by default as many as the logged ones had.
        reward: What a visit was worth, where `log` is a run; 0 stands for "no better than before".

    >>> tasks, half = ["learned", "learning"] * 50, [0.5] * 100
    >>> rewards = [0.0 if task == "learned" else 1 - k / 100 for k, task in enumerate(tasks)]
    >>> {task: round(share, 1) for task, share in planned((tasks, half, rewards)).mixture.mixture.items()}
    {'learned': 0.1, 'learning': 0.9}
    """
    found = as_log(log, reward)
    refuse_untried(found, np.ones(len(found.tasks)))
    largest = found.rewards.max()
    if not largest > 0:
        raise RotaError("A plan expects rewards above 0. Found none in the log: no task got better.")
    curves = [fit_curve(_scores(found, k, largest)) for k in range(len(found.tasks))]
    mixture = np.array(list(found.mixture.values()))
    counted = [k for k, task in enumerate(found.tasks) if task not in found.auxiliary]
    if not counted:
        raise RotaError("A plan expects a task with training rows that counts. Found only auxiliary ones in the log.")
    share = mixture[counted].sum()
    sizes, sums = found.totals()
    steps = steps or round(len(found) / len(found.starts))
    entropies = [math.inf, *(ENTROPIES * largest).tolist()]
    plan, best, gain = _plan(
        [curves[k] for k in counted],
        mixture[counted] / share,
        (sums / sizes)[counted],
        max(1, round(steps * share)),
        entropies,
    )
    mixture[counted] = share * plan
    return Planned(
        Fixed(dict(zip(found.tasks, mixture.tolist(), strict=True))),
        entropies[best],
        gain,
        dict(zip(found.tasks, curves, strict=True)),
    )


def _plan(
    curves: list[Curve], logged: Floats, means: Floats, steps: int, entropies: list[float]
) -> tuple[Floats, int, float]:
    """The mixture, the number of the best entropy, and the gain over the logged mixture."""
    tried = np.stack([_tilted(logged, means, entropy) for entropy in entropies])
    worth = _mean_scores(curves, steps, tried)
    best = int(worth.argmax())
    caution = CAUTION * min(1.0, float(np.median([curve.noise for curve in curves])) / NOISY)
    mixture = (1 - caution) * (tried[best] + filled(curves, steps)) / 2 + caution * logged
    gain = _mean_scores(curves, steps, mixture[None])[0] - _mean_scores(curves, steps, logged[None])[0]
    return mixture, best, float(gain)


def _tilted(logged: Floats, means: Floats, entropy: float) -> Floats:
    """The mixture with the largest mean reward less entropy times its divergence from the logged one."""
    weights = logged * np.exp((means - means.max()) / entropy)
    return np.asarray(weights / weights.sum())


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


def _mean_scores(curves: list[Curve], steps: int, mixtures: Floats) -> Floats:
    """The expected mean score at the end, with each of these mixtures."""
    scores = [expected_scores(curve, steps, shares) for curve, shares in zip(curves, mixtures.T, strict=True)]
    return np.asarray(np.mean(scores, axis=0))
