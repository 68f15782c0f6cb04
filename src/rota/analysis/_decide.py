"""From differences to verdicts: tests against zero, the printed effect and the smallest one that matters.

Everything works on arrays whose last axis are the claims of one table, so that thousands of tables can be decided at
once: `benchmarks/verdicts.py` counts how often verdicts are wrong.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rota.analysis._spreads import LEVEL

HOLDS, FAILS, EXCLUDED, UNCLEAR = "holds", "does not hold", "an effect of the printed size is excluded", "cannot tell"
FEWEST = 3  # seeds; fewer are no evidence
EXACT = 1e-12  # standard errors below are rounding

Array = NDArray[np.float64]


class Predicted(NamedTuple):
    """What the claims of a table say, one entry for each; not a number where a claim does not say it.

    Args:
        sign: 1 for higher (and alike), −1 for lower.
        printed: The printed effect, times the sign.
        matters: The smallest effect that matters.
        within: The margin of claims of likeness.

    >>> none = np.full(2, np.nan)
    >>> two = Predicted(np.array([1.0, -1.0]), np.array([0.9, -0.5]) * [1, -1], none, none)
    >>> two.printed  # in the direction of the claim
    array([0.9, 0.5])
    """

    sign: Array
    printed: Array
    matters: Array
    within: Array


class Decided(NamedTuple):
    """What was found of each claim.

    Args:
        verdict: One of `HOLDS`, `FAILS`, `EXCLUDED` and `UNCLEAR`.
        below_printed: Whether the effect is smaller than printed.
        below_matters: Whether it is smaller than what matters.

    >>> none = np.full(1, np.nan)
    >>> decide(np.array([0.5]), np.array([0.1]), np.array([5]), Predicted(np.ones(1), np.full(1, 0.9), none, none))
    Decided(verdict=array(['holds'], dtype='<U41'), below_printed=array([ True]), below_matters=array([False]))
    """

    verdict: NDArray[np.str_]
    below_printed: NDArray[np.bool_]
    below_matters: NDArray[np.bool_]


def above(mean: Array, error: Array, n: Array, bound: Array) -> Array:
    """The p-value of "the effect is at most `bound`": twice that of the one-sided t test, so that it is below 0.05
    exactly where the 95 % interval lies above the bound. Not a number where nothing can be tested.

    >>> above(np.array([0.125]), np.array([0.125]), np.array([3]), np.array([0.0])).round(4)  # t = 1, df = 2
    array([0.4226])
    """
    from scipy import stats  # late: it takes a moment

    away = mean - bound
    ratio = away / np.maximum(error, EXACT)
    ratio = np.where(error > EXACT, ratio, np.where(np.abs(away) > 1e-9, np.copysign(np.inf, away), 0.0))
    found = np.minimum(1.0, 2 * stats.t.sf(ratio, np.maximum(n, 2) - 1))
    return np.where((n >= FEWEST) & np.isfinite(away), found, np.nan)


def below(mean: Array, error: Array, n: Array, bound: Array) -> Array:
    """The p-value of "the effect is at least `bound`", see `above`."""
    return above(-mean, error, n, -bound)


def holm(p: Array) -> Array:
    """p-values corrected for their number along the last axis (Holm 1979): the chance that any true hypothesis of a
    table is rejected stays below the level. Those that are not numbers are not counted.

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03]))
    array([0.03, 0.06,  nan, 0.06])
    """
    order = np.argsort(p, axis=-1)  # what is not a number comes last
    ranked = np.take_along_axis(p, order, axis=-1)
    left = np.isfinite(p).sum(axis=-1, keepdims=True) - np.arange(p.shape[-1])
    corrected = np.minimum(1.0, np.maximum.accumulate(ranked * left, axis=-1))
    return np.take_along_axis(corrected, np.argsort(order, axis=-1), axis=-1)


def decide(mean: Array, error: Array, n: Array, claims: Predicted) -> Decided:
    """The verdicts on the claims of tables, corrected for the number of claims in each.

    A claim holds, or does not, where the test against zero (for claims of likeness: the tests against both margins)
    says so. Where it does not, the effect may still be smaller than what matters, then the claim does not hold, or
    smaller than printed, then that is excluded. Each of these three questions is a family of its own for Holm's
    correction.

    Args:
        mean, error, n: Of the differences, [..., claims].
        claims: What is claimed.

    >>> none = np.full(2, np.nan)
    >>> claims = Predicted(np.ones(2), np.array([0.9, 0.9]), none, none)
    >>> decide(np.array([0.8, 0.1]), np.array([0.1, 0.2]), np.array([5, 5]), claims).verdict.tolist()
    ['holds', 'an effect of the printed size is excluded']
    """
    effect, zero, level = claims.sign * mean, np.zeros_like(claims.sign), 1 - LEVEL
    alike = np.isfinite(claims.within)

    def up(bound: Array) -> Array:
        return above(effect, error, n, bound)

    def down(bound: Array) -> Array:
        return below(effect, error, n, bound)

    for_it = np.where(alike, np.maximum(up(-claims.within), down(claims.within)), up(zero))
    against = np.where(alike, np.minimum(up(claims.within), down(-claims.within)), down(zero))
    told = holm(np.minimum(for_it, against)) <= level
    below_printed = (holm(np.where(alike, np.nan, down(claims.printed))) <= level) & ~alike
    below_matters = (holm(np.where(alike, np.nan, down(claims.matters))) <= level) & ~alike
    holds = told & (for_it <= against)
    verdict = np.select([holds, told | below_matters, below_printed], [HOLDS, FAILS, EXCLUDED], UNCLEAR)
    return Decided(verdict, below_printed, below_matters)
