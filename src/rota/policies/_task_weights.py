"""Names and weights of tasks, as policies are given them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rota.arrays import Floats
from rota.errors import RotaError


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
