"""Estimate the mean reward of a mixture from decisions that others took."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rota.arrays import Floats
from rota.errors import RotaError, unknown_name
from rota.offpolicy._log import Log, LogSource, as_log
from rota.offpolicy._reward import Reward, improving

CLIP = 10.0
"""Largest weight of a decision in the clipped estimate."""


@dataclass(frozen=True)
class Estimate:
    """An estimated mean reward.

    Args:
        value: The estimate.
        stderr: Its standard error.
        effective_sample_size: As many decisions of the mixture itself would say as much, (Σw)² / Σw².

    >>> estimate = Estimate(value=0.3, stderr=0.05, effective_sample_size=400)
    >>> [round(end, 2) for end in estimate.interval()]
    [0.2, 0.4]
    """

    value: float
    stderr: float
    effective_sample_size: float

    def interval(self, deviations: float = 1.96) -> tuple[float, float]:
        """So many standard errors to both sides; by default the truth is inside 95 times of a hundred."""
        return self.value - deviations * self.stderr, self.value + deviations * self.stderr


def value(
    log: Log | LogSource,
    mixture: Mapping[str, float],
    estimator: str = "wis",
    reward: Reward = improving,
) -> Estimate:
    """What the mixture q would have earned per step (Glover & Hokamp 2019, section 3.3.1), with w = q(k) / π(k):

        is       mean of w r (eq. 10): unbiased, of large variance
        wis      Σ w r / Σ w (eq. 11): hardly biased, of smaller variance; a fixed logging policy gets its mean reward
        clipped  like is, with no weight above 10: biased towards small values
        dr       doubly robust: Σ_k q(k) r̄(k) + mean of w (r - r̄(k)), r̄ the mean reward of a task

    Args:
        log: A run folder, several of them, arrays `(tasks, probabilities, rewards)`, or a `Log`.
        mixture: Weights of tasks; those that are missing get none.
        estimator: "wis", "is", "clipped" or "dr".
        reward: What a visit was worth, where `log` is a run.

    >>> log = ["a", "b", "a", "b"], [0.5, 0.5, 0.5, 0.5], [1.0, 0.0, 0.5, 0.5]
    >>> value(log, {"a": 1, "b": 1}).value, value(log, {"a": 3, "b": 1}).value
    (0.5, 0.625)
    """
    if estimator not in ESTIMATORS:
        raise unknown_name("estimator", estimator, ESTIMATORS)
    found = as_log(log, reward)
    q = _weights(found, mixture)
    w = q[found.chosen] / found.probabilities
    estimate, stderr = ESTIMATORS[estimator](w, found, q)
    return Estimate(float(estimate), float(stderr), float(w.sum() ** 2 / (w**2).sum()))


def _weights(log: Log, mixture: Mapping[str, float]) -> Floats:
    for task, weight in mixture.items():
        if task not in log.tasks:
            raise unknown_name("task of the log", task, log.tasks)
        if not (math.isfinite(weight) and weight >= 0):
            raise RotaError(f"Expected a weight of at least 0 for task '{task}'. Found {weight}.")
    q = np.array([mixture.get(task, 0.0) for task in log.tasks], dtype=np.float64)
    if not q.sum() > 0:
        raise RotaError("Expected a mixture with a weight above 0. Found none.")
    refuse_untried(log, q)
    return np.asarray(q / q.sum())


def refuse_untried(log: Log, q: Floats) -> None:
    """Refuse a mixture with a task that the log knows nothing about."""
    never = [task for task, weight, count in zip(log.tasks, q, log.counts(), strict=True) if weight > 0 and not count]
    if never:
        raise RotaError(
            f"Expected decisions for every task of the mixture. Found none for '{never[0]}' in the log: what was never "
            f"tried cannot be estimated. Log with `uniform`, or leave the task out."
        )


def _mean(terms: Floats) -> tuple[float, float]:
    spread = float(terms.std(ddof=1)) if len(terms) > 1 else math.nan
    return float(terms.mean()), spread / math.sqrt(len(terms))


def _is(w: Floats, log: Log, q: Floats) -> tuple[float, float]:
    return _mean(w * log.rewards)


def _clipped(w: Floats, log: Log, q: Floats) -> tuple[float, float]:
    return _mean(np.minimum(w, CLIP) * log.rewards)


def _wis(w: Floats, log: Log, q: Floats) -> tuple[float, float]:
    found = float((w * log.rewards).sum() / w.sum())
    # A ratio of means; its error to first order.
    return found, float(np.sqrt((w**2 * (log.rewards - found) ** 2).sum()) / w.sum())


def _doubly_robust(w: Floats, log: Log, q: Floats) -> tuple[float, float]:
    sizes, sums = log.totals()
    means = np.divide(sums, sizes, out=np.zeros_like(sums), where=sizes > 0)
    return _mean(q @ means + w * (log.rewards - means[log.chosen]))


ESTIMATORS: dict[str, Callable[[Floats, Log, Floats], tuple[float, float]]] = {
    "wis": _wis,
    "is": _is,
    "clipped": _clipped,
    "dr": _doubly_robust,
}
"""Estimators of what a mixture would have earned, by name; each gives a value and its standard error."""
