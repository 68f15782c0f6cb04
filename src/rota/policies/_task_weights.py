"""Names and weights of tasks, as policies are given them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from rota.arrays import Floats
from rota.errors import RotaError, unknown_name


def task_names(owner: str, tasks: Sequence[str]) -> tuple[str, ...]:
    """The names as a tuple; refuse none, one string instead of a list, and names that stand twice."""
    if isinstance(tasks, str) or not tasks:
        raise RotaError(f"{owner} expects a list of at least one task name. Found {tasks!r}.")
    if len(set(tasks)) < len(tasks):
        twice = sorted({task for task in tasks if list(tasks).count(task) > 1})
        raise RotaError(f"{owner} expects each task once. Found twice: {', '.join(twice)}.")
    return tuple(tasks)


def positive_weights(owner: str, weights: Mapping[str, float], what: str = "weights") -> Floats:
    """The values of `weights` as an array; refuse names alone, and negative, non-finite and all-zero values."""
    if not isinstance(weights, Mapping):
        raise RotaError(f"{owner} expects {what} by task, such as {{'rte': 2500, 'sst2': 7500}}. Found {weights!r}.")
    with np.errstate(over="ignore"):
        values = np.array([float(value) for value in weights.values()], dtype=np.float64)
        total = values.sum()
    bad = [f"{task}={value:g}" for task, value in weights.items() if not (math.isfinite(value) and value >= 0)]
    if bad:
        raise RotaError(f"{owner} expects {what} of zero or more. Found {', '.join(bad)}.")
    if len(values) and not total > 0:
        raise RotaError(f"{owner} expects at least one task with {what} above zero. Found all zero.")
    if not math.isfinite(total):
        raise RotaError(f"{owner} expects {what} whose sum is a number. Found {', '.join(map(str, values))}.")
    return values


def prior_shares(owner: str, tasks: Collection[str], prior: Mapping[str, float] | None) -> Floats:
    """A prior as shares in the order of the tasks; None is uniform. Refuse unknown and missing tasks, and a task
    without a share, which nothing could bring back.

    >>> prior_shares("Exp3S", ["rte", "sst2"], {"sst2": 300, "rte": 100})
    array([0.25, 0.75])
    """
    if prior is None:
        return np.full(len(tasks), 1.0 / len(tasks))
    weights = dict(zip(prior, positive_weights(owner, prior, "a prior"), strict=True))
    for task in prior:
        if task not in tasks:
            raise unknown_name("task in the prior", task, tasks)
    lacking = [task for task in tasks if not weights.get(task)]
    if lacking:
        raise RotaError(f"{owner} expects a prior above zero for every task. Found none for {', '.join(lacking)}.")
    found: Floats = np.array([weights[task] for task in tasks])
    found /= found.sum()
    return found
