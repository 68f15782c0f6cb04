"""How much a better mixture would gain over the plain ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rota.arrays import Floats
from rota.errors import RotaError
from rota.surfaces._best_shares import ShareLimits, best_shares
from rota.surfaces._surface import Surface

ENOUGH = 0.003
"""A gain in the mean score below which nobody would change a mixture: 0.3 points."""
CAUTION = 1.5
"""Standard errors by which a mixture has to gain to be worth leaving the plain one for it. The mixture with the highest
expected score looks better than it is, because it was chosen for that; nearer to the plain one that matters less."""
STEPS = 20
LEVEL = 0.95

Advice = Literal["stop here", "worth it", "cannot tell"]


@dataclass(frozen=True)
class Gain:
    """What is won, and where 95 % of what the runs allow is.

    >>> Gain.of(np.linspace(0, 1, 101)).high
    0.975
    """

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, draws: Floats) -> Gain:
        """From draws that are equally likely."""
        low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return cls(float(draws.mean()), float(low), float(high))


@dataclass(frozen=True)
class Headroom:
    """How much there is to win.

    Args:
        mixture: The one to train: towards the highest expected score, as far as that is known.
        plain: The best of the plain mixtures.
        over: What the mixture gains over each plain one, in the mean score.
        by_task: What each task gains or pays, compared with the best plain one.
        scores: Expected mean score of the plain mixtures.
        stretch: How many times as large differences are at the full budget, for each task; none if nothing was
            trained there.
        enough: The gain below which nobody would change a mixture.

    >>> gain = Gain(0.001, -0.002, 0.004)
    >>> Headroom({"rte": 0.4, "mnli": 0.6}, "uniform", {"uniform": gain}, {}, {"uniform": 0.7}, {}).advice
    'stop here'
    """

    mixture: Mapping[str, float]
    plain: str
    over: Mapping[str, Gain]
    by_task: Mapping[str, Gain]
    scores: Mapping[str, float]
    stretch: Mapping[str, Gain]
    enough: float = ENOUGH

    @property
    def gain(self) -> Gain:
        """Over the best plain mixture."""
        return self.over[self.plain]

    @property
    def advice(self) -> Advice:
        """Stop here: less than `enough` is expected. Worth it: more is, and the interval is above zero."""
        if self.gain.mean < self.enough:
            return "stop here"
        return "worth it" if self.gain.low > 0 else "cannot tell"


def find_headroom(
    surface: Surface,
    plain: Mapping[str, Mapping[str, float]],
    limits: ShareLimits | None = None,
    full: tuple[Floats, Mapping[str, Floats]] | None = None,
    enough: float = ENOUGH,
    seed: int = 0,
) -> Headroom:
    """The mixture that is worth training, and what it would gain.

    Args:
        surface: Of the scores.
        plain: What costs nothing, by name.
        limits: Of the shares, beside those of the design: beyond them nothing was trained.
        full: Mixtures that were trained at the full budget, too, and the scores of each task there.
        enough: The gain below which nobody would change a mixture.
        seed: Of the draws.

    >>> shares = np.linspace(0.05, 0.95, 19)
    >>> mixtures = np.stack([shares, 1 - shares], axis=1)
    >>> scores = {"rte": 0.5 + 0.2 * shares, "mnli": np.full(19, 0.8)}
    >>> from rota.surfaces import fit_surface
    >>> surface = fit_surface(["rte", "mnli"], mixtures, scores)
    >>> found = find_headroom(surface, {"uniform": {"rte": 0.5, "mnli": 0.5}})
    >>> found.mixture["rte"], found.advice, round(found.gain.mean, 3)
    (0.95, 'worth it', 0.045)
    """
    for name, mixture in plain.items():
        if set(mixture) != set(surface.sources):
            raise RotaError(f"Mixture '{name}' expects shares of {list(surface.sources)}. Found {list(mixture)}.")
    if not plain:
        raise RotaError("Headroom expects at least one plain mixture to compare with. Found none.")
    designed = ShareLimits(surface.shares.min(axis=0), surface.shares.max(axis=0))
    if limits is not None:
        least, most = np.maximum(designed.least, limits.least), np.minimum(designed.most, limits.most)
        designed = ShareLimits(least, most)
    known = np.array([[mixture[task] for task in surface.sources] for mixture in plain.values()])
    best = int(surface.mean(known).argmax())
    top = best_shares(surface.mean, [*known, *surface.shares], designed)
    away = np.linspace(0, 1, STEPS + 1)[:, None]
    begin = designed.nearest(known[best])
    path = begin + away * (top - begin)
    asked = np.concatenate([known, path, *([full[0]] if full else [])])
    draws = surface.draws(asked, seed)
    stretch = _stretched(draws, full[1], len(full[0]), seed) if full else {}
    by_task = {task: own * stretch[task][:, None] if full else own for task, own in draws.items()}
    along = {task: own[:, len(known) : len(known) + len(path)] - own[:, [best]] for task, own in by_task.items()}
    mean = np.mean(list(along.values()), axis=0)
    spread = mean.std(axis=0)
    chosen = int((mean.mean(axis=0) - CAUTION * spread).argmax())
    level = np.mean([own[:, [len(known) + chosen]] - own[:, : len(known)] for own in by_task.values()], axis=0)
    shares = path[chosen] / path[chosen].sum()
    return Headroom(
        dict(zip(surface.sources, shares.round(4).tolist(), strict=True)),
        list(plain)[best],
        {name: Gain.of(level[:, k]) for k, name in enumerate(plain)},
        {task: Gain.of(own[:, chosen]) for task, own in along.items()},
        dict(zip(plain, surface.mean(known).tolist(), strict=True)),
        {task: Gain.of(own) for task, own in stretch.items()},
        enough,
    )


STRETCH_SPREAD = 0.5
"""How far from 1 the stretch of a task may be before anything is trained at the full budget (a standard deviation)."""


def _stretched(draws: Mapping[str, Floats], scores: Mapping[str, Floats], count: int, seed: int) -> dict[str, Floats]:
    """How many times as large the differences between mixtures are at the full budget as at a part of it: for each draw
    of the surface a slope through the scores there, with a prior around 1."""
    rng = np.random.default_rng([seed, 1])
    found = {}
    for task, own in draws.items():
        surface = own[:, -count:] - own[:, -count:].mean(axis=1, keepdims=True)
        there = scores[task] - scores[task].mean()
        square = (surface**2).sum(axis=1)
        plain = surface @ there / np.maximum(square, 1e-18)
        left = ((there - plain[:, None] * surface) ** 2).sum(axis=1)
        variance = np.maximum(left / max(1, count - 2), 1e-12)
        precision = square / variance + STRETCH_SPREAD**-2
        slope = ((surface @ there) / variance + STRETCH_SPREAD**-2) / precision
        found[task] = np.clip(slope + rng.standard_normal(len(slope)) / np.sqrt(precision), 0, None)
    return found
