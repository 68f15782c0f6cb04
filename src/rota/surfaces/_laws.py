"""Laws of how the score of a task follows from the mixture."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from rota.arrays import Floats

LawName = Literal["log-linear", "quadratic"]
FREE, OWN, OTHERS, PRODUCTS, CEILING = range(5)
"""Groups of coefficients: the level, the share of the task itself, those of others, products, and the ceiling."""


class Law(Protocol):
    """A function of the mixture with coefficients; the first one is free, the others have a prior around zero."""

    groups: Floats
    """The group of each coefficient after the first."""

    def __call__(self, shares: Floats, theta: Floats) -> tuple[Floats, Floats]:
        """Values [members, mixtures] and their derivatives [members, mixtures, coefficients], of the coefficients
        [members, coefficients]."""


@dataclass(frozen=True)
class Scale:
    """Features of a mixture are measured from the middle of the design, in units of their spread in it."""

    middle: Floats
    spread: Floats

    @classmethod
    def of(cls, features: Floats) -> Scale:
        spread = features.std(axis=0)
        return cls(features.mean(axis=0), np.where(spread > 1e-9, spread, 1.0))

    def __call__(self, features: Floats) -> Floats:
        return np.asarray((features - self.middle) / self.spread)


class Quadratic:
    """The score is a quadratic function of the shares.

    Args:
        shares: The mixtures of the design [mixtures, tasks].
        own: The number of the task whose score it is; None where it is none of them.
    """

    def __init__(self, shares: Floats, own: int | None) -> None:
        count = shares.shape[1]
        self.centre = shares.mean(axis=0)
        self.pairs = list(itertools.combinations_with_replacement(range(count), 2))
        self.scale = Scale.of(self._raw(shares))
        linear = [OWN if k == own else OTHERS for k in range(count)]
        self.groups = np.array([FREE, *linear] + [OWN if (k, j) == (own, own) else PRODUCTS for k, j in self.pairs])

    def _raw(self, shares: Floats) -> Floats:
        away = shares - self.centre
        return np.concatenate([away, np.stack([away[:, k] * away[:, j] for k, j in self.pairs], axis=1)], axis=1)

    def __call__(self, shares: Floats, theta: Floats) -> tuple[Floats, Floats]:
        features = self.scale(self._raw(shares))
        slopes = np.concatenate([np.ones((len(features), 1)), features], axis=1)
        return theta @ slopes.T, np.broadcast_to(slopes, (len(theta), *slopes.shape))


class LogLinear:
    """What a task lacks to its ceiling is an exponential of a linear function of the shares.

    Args:
        shares: The mixtures of the design [mixtures, tasks].
        own: The number of the task whose score it is; None where it is none of them.
        middle: The mean score.
        lacking: What the task may lack on average; the last coefficient is the log of what it does lack over this.
    """

    def __init__(self, shares: Floats, own: int | None, middle: float, lacking: float) -> None:
        self.middle, self.lacking = middle, lacking
        self.scale = Scale.of(shares)
        self.groups = np.array([FREE, *(OWN if k == own else OTHERS for k in range(shares.shape[1])), CEILING])

    def __call__(self, shares: Floats, theta: Floats) -> tuple[Floats, Floats]:
        features = self.scale(shares)
        slopes = np.concatenate([np.ones((len(features), 1)), features], axis=1)
        unit = self.lacking * np.exp(np.clip(theta[:, -1:], -5, 5))
        ratio = np.clip(-(theta[:, :-1] @ slopes.T) / unit, -20, 20)
        left = np.exp(ratio)
        by_unit = unit * (1 - left * (1 - ratio))
        return self.middle + unit * (1 - left), np.concatenate([left[:, :, None] * slopes, by_unit[:, :, None]], axis=2)
