"""The mixture that would have earned most, kept from being too sure of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from rota.arrays import Floats
from rota.errors import RotaError, missing_package, unknown_name
from rota.offpolicy._estimate import ESTIMATORS, refuse_untried
from rota.offpolicy._log import Log, LogSource, as_log
from rota.offpolicy._planned import planned, softmax_of
from rota.offpolicy._reward import Reward, improving
from rota.policies import Fixed

CLOSED = ("wis", "dr")
"""Estimators whose best mixture has a closed form."""


def best_mixture(
    log: Log | LogSource,
    entropy: float | Literal["auto"] = "auto",
    *,
    steps: int | None = None,
    optimiser: Literal["cma-es", "softmax"] = "cma-es",
    reward: Reward = improving,
    estimator: str = "wis",
    iterations: int = 50,
    population: int = 64,
    seed: int = 0,
) -> Fixed:
    """The policy π^C of Glover & Hokamp (2019), section 3.3.2: over mixtures π = softmax(ω),

        maximise V_WIS(π) + λ H(π),                                                             (eq. 14)

    with V_WIS the weighted importance sampling estimate of the mean reward and H the entropy in nats. Without
    entropy all the weight goes to the task with the largest mean reward.

    Args:
        log: A run folder, several of them, arrays `(tasks, probabilities, rewards)`, or a `Log`.
        entropy: The weight λ; or "auto" for a mixture that is planned from learning curves (`planned`), since no λ is
            right for every log.
        steps: Of the next run, for "auto"; by default as many as the logged ones had.
        optimiser: "cma-es" as in the paper, or "softmax", the closed form π(k) ∝ exp(r̄(k) / λ) with r̄ the mean
            reward of a task, which is exact where tasks were logged as often as their probabilities say.
        reward: What a visit was worth, where `log` is a run.
        estimator: Of the mean reward, in place of V_WIS: one of those of `value`. The closed form is that of "wis" and
            "dr".
        iterations, population: Of CMA-ES; the paper's for GLUE.
        seed: Of CMA-ES.

    >>> log = ["a", "b"] * 50, [0.5] * 100, [0.6, 0.4] * 50
    >>> best_mixture(log, entropy=0.2, optimiser="softmax").probabilities(0).round(3)
    array([0.731, 0.269])

    Where this differs from the paper: it does not say where the search begins, how wide, and what it returns. Here it
    begins at the uniform mixture with a step of 0.5 and returns the best mixture that was tried.
    """
    if entropy == "auto":
        return planned(log, steps, reward).mixture
    if not entropy >= 0:
        raise RotaError(f"Expected a weight of the entropy of at least 0, or 'auto'. Found {entropy}.")
    if estimator not in ESTIMATORS:
        raise unknown_name("estimator", estimator, ESTIMATORS)
    if optimiser == "softmax" and estimator not in CLOSED:
        raise RotaError(
            f"The closed form expects an estimator that it is the optimum of: {', '.join(CLOSED)}. "
            f"Found '{estimator}'. Use optimiser='cma-es'."
        )
    found = as_log(log, reward)
    refuse_untried(found, np.ones(len(found.tasks)))
    if len(found.tasks) == 1:
        mixture = np.ones(1)
    elif optimiser == "softmax":
        sizes, sums = found.totals()
        mixture = softmax_of(sums / sizes, entropy)
    else:
        mixture = _searched(_estimated(found, estimator), len(found.tasks), entropy, iterations, population, seed)
    return Fixed(dict(zip(found.tasks, mixture.tolist(), strict=True)))


def _estimated(log: Log, estimator: str) -> Callable[[Floats], float]:
    """The estimate of a mixture's mean reward, as a function of the mixture."""
    if estimator == "wis":  # which depends on the log by two numbers for each task
        sizes, sums = log.totals()
        return lambda q: float(q @ sums / (q @ sizes))
    return lambda q: float(ESTIMATORS[estimator](q[log.chosen] / log.probabilities, log, q)[0])


def _searched(
    estimated: Callable[[Floats], float], tasks: int, entropy: float, iterations: int, population: int, seed: int
) -> Floats:
    """By CMA-ES: the best mixture that was tried."""
    cmaes = load_cmaes()
    search = cmaes.CMA(mean=np.zeros(tasks), sigma=0.5, population_size=population, seed=seed)
    best, most = np.full(tasks, 1.0 / tasks), -np.inf
    for _ in range(iterations):
        tried = []
        for _ in range(population):
            omega = search.ask()
            q = softmax_of(omega, 1.0)
            worth = estimated(q) + entropy * _entropy(q)
            tried.append((omega, -worth))
            if worth > most:
                best, most = q, worth
        search.tell(tried)
    return best


def _entropy(q: Floats) -> float:
    return float(-(q * np.log(np.maximum(q, np.finfo(np.float64).tiny))).sum())


def load_cmaes() -> Any:
    """The package, or one sentence that says how to get it.

    >>> load_cmaes().__name__
    'cmaes'
    """
    try:
        import cmaes
    except ImportError as error:
        raise missing_package("The search for a mixture (but not optimiser='softmax')", "cmaes", "search") from error
    return cmaes
