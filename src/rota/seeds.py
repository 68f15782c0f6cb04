"""Separate random generators from one seed, so that no part of a run disturbs another's draws."""

from __future__ import annotations

import zlib

import numpy as np


def _sequence(seed: int, path: tuple[str | int, ...]) -> np.random.SeedSequence:
    words = [zlib.crc32(part.encode()) if isinstance(part, str) else part for part in path]
    return np.random.SeedSequence([seed, *words])


def generator(seed: int, *path: str | int) -> np.random.Generator:
    """The generator of one purpose, such as `generator(seed, "order", task, number_of_the_pass)`.

    >>> bool(generator(0, "order", "rte").random() == generator(0, "order", "rte").random())
    True
    >>> bool(generator(0, "order", "rte").random() == generator(0, "order", "mrpc").random())
    False
    """
    return np.random.default_rng(_sequence(seed, path))


def integer(seed: int, *path: str | int) -> int:
    """A seed of one purpose, for a generator that is not NumPy's."""
    return int(_sequence(seed, path).generate_state(1, np.uint64)[0]) >> 1
