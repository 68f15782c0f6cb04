"""What a law leaves unsaid: smooth, and known only near mixtures that were trained."""

from __future__ import annotations

import numpy as np

from rota.arrays import Floats

RESIDUAL = 9
OWN_LENGTH, LENGTH = 0.25, 0.7
"""How far apart mixtures are that have little to do with each other, in roots of shares: small shares matter most."""


def residual_kernel(one: Floats, other: Floats, own: int | None) -> Floats:
    """The covariance between mixtures: of a curve in the task's own share, and of a surface in all of them."""
    apart = np.sqrt(one)[:, None] - np.sqrt(other)[None]
    surface = np.exp(-0.5 * (apart**2).sum(axis=2) / LENGTH**2)
    if own is None:
        return np.asarray(surface)
    return np.asarray((surface + np.exp(-0.5 * apart[:, :, own] ** 2 / OWN_LENGTH**2)) / 2)
