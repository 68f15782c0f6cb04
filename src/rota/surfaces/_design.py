"""Which mixtures to train, so that what all others would score can be told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rota.arrays import Floats
from rota.errors import RotaError

ROOT = 0.5
"""Exponent of the sizes of the second plain mixture."""
CONCENTRATIONS = (0.5, 1.0, 2.0, 4.0)
"""Of the Dirichlet distributions around plain mixtures: some nearly leave tasks out, some are close by."""
TRIES = 40
"""Mixtures that are drawn for each one that is taken: the one that is farthest from all before."""
HARDLY = 0.02
"""Weight of a task that is all but left out, beside the 1 of every other task."""
DIGITS = 4


def plain_mixtures(sizes: Mapping[str, int]) -> dict[str, dict[str, float]]:
    """What costs nothing to try: equal shares, and shares by size. Where sizes are equal, one mixture is left.

    >>> plain_mixtures({"rte": 100, "mnli": 400})["size^0.5"]
    {'rte': 0.3333, 'mnli': 0.6667}
    >>> list(plain_mixtures({"rte": 100, "mnli": 100}))
    ['uniform']
    """
    if not sizes or any(size < 1 for size in sizes.values()):
        raise RotaError(f"A mixture expects tasks with at least one training row. Found {dict(sizes)}.")
    found: dict[str, dict[str, float]] = {}
    for name, power in (("uniform", 0.0), (f"size^{ROOT:g}", ROOT), ("proportional", 1.0)):
        weights = np.array([float(size) for size in sizes.values()]) ** power
        mixture = _by_task(list(sizes), weights)
        if mixture not in found.values():
            found[name] = mixture
    return found


def designed_mixtures(sizes: Mapping[str, int], count: int, seed: int = 0) -> dict[str, dict[str, float]]:
    """Mixtures to train: the plain ones; for each task one with much of it, and one with hardly any; and draws from
    Dirichlet distributions around the plain ones, each as far as possible from those before.

    Args:
        sizes: Training rows of each task.
        count: How many mixtures in all.
        seed: Of the draws.

    >>> made = designed_mixtures({"rte": 100, "mnli": 400}, count=8)
    >>> list(made)
    ['uniform', 'size^0.5', 'proportional', 'more-rte', 'more-mnli', 'less-rte', 'mix-1', 'mix-2']
    >>> made["more-rte"]
    {'rte': 0.75, 'mnli': 0.25}
    """
    tasks = list(sizes)
    if len(tasks) < 2:
        raise RotaError(f"Mixtures expect at least two tasks. Found {len(tasks)}.")
    plain = plain_mixtures(sizes)
    least = len(plain) + 3
    if count < least:
        raise RotaError(f"A law of {len(tasks)} tasks expects at least {least} mixtures. Found {count}. Ask for more.")
    found = dict(plain)
    corners = np.eye(len(tasks))
    middle = np.full(len(tasks), 1 / len(tasks))
    softened = {f"more-{task}": (own + middle) / 2 for task, own in zip(tasks, corners, strict=True)}
    softened |= {f"less-{task}": 1 - own + HARDLY for task, own in zip(tasks, corners, strict=True)}
    for name, weights in softened.items():
        mixture = _by_task(tasks, weights)
        if len(found) + 3 <= count and mixture not in found.values():
            found[name] = mixture
    rng = np.random.default_rng(seed)
    centres = np.array([list(own.values()) for own in plain.values()])
    number = 0
    while len(found) < count:
        number += 1
        found[f"mix-{number}"] = _by_task(
            tasks, _far_draw(rng, centres, np.array([[*m.values()] for m in found.values()]))
        )
    return found


def _far_draw(rng: np.random.Generator, centres: Floats, taken: Floats) -> Floats:
    """Of several draws the one that is farthest from what is taken; roots of shares tell small shares apart."""
    count = centres.shape[1]
    around = centres[rng.integers(len(centres), size=TRIES)]
    strength = rng.choice(CONCENTRATIONS, size=(TRIES, 1)) * count
    drawn = rng.standard_gamma(np.maximum(around * strength, 0.05)) + 1e-9
    drawn /= drawn.sum(axis=1, keepdims=True)
    away = ((np.sqrt(drawn)[:, None] - np.sqrt(taken)[None]) ** 2).sum(axis=2).min(axis=1)
    return np.asarray(drawn[away.argmax()])


def _by_task(tasks: Sequence[str], weights: Floats) -> dict[str, float]:
    shares = np.round(weights / weights.sum(), DIGITS)
    return dict(zip(tasks, shares.tolist(), strict=True))
