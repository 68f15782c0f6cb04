"""How often a number of seeds finds an effect, and how many seeds find it four times in five."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rota.analysis._spreads import LEVEL

POWER = 0.8
MOST_SEEDS = 1000  # an effect that needs more of them is none
SPREADS = 2000  # values that stand for the distribution of an estimated standard deviation


def power(size: float, n: int, level: float = 1 - LEVEL) -> float:
    """How often the two-sided paired t test with n seeds finds an effect and its sign.

    Args:
        size: The effect, in standard deviations of the differences between seeds.
        n: Seeds.
        level: Of the test.

    >>> round(power(1.0, 10), 3)  # Cohen's tables: 0.80
    0.803
    """
    from scipy import stats  # late: it takes a moment

    if n < 3:
        return 0.0
    found = stats.nct.sf(stats.t.ppf(1 - level / 2, n - 1), n - 1, size * np.sqrt(n))
    return float(found) if np.isfinite(found) else 1.0  # not a number: an effect beyond what scipy can work out


def power_of_alike(effect: float, margin: float, n: int, level: float = 1 - LEVEL) -> float:
    """How often two one-sided t tests show that an effect is within a margin, all in standard deviations.

    >>> round(power_of_alike(0.0, 1.0, 20), 2), power_of_alike(2.0, 1.0, 20) < 0.001
    (0.98, True)
    """
    from scipy import stats  # late: it takes a moment

    if n < 3:
        return 0.0
    shares = (np.arange(SPREADS) + 0.5) / SPREADS
    reach = stats.t.ppf(1 - level / 2, n - 1) * np.sqrt(stats.chi2.ppf(shares, n - 1) / (n - 1))
    low, high = (np.sqrt(n) * (side * margin - effect) for side in (-1, 1))
    return float(np.maximum(0, stats.norm.cdf(high - reach) - stats.norm.cdf(low + reach)).mean())


def seeds_for(found: Callable[[int], float]) -> int | None:
    """The fewest seeds, three or more, whose power is 80 %; None where no sensible number has it.

    >>> seeds_for(lambda n: power(1.0, n))
    10
    """
    if found(MOST_SEEDS) < POWER:
        return None
    below, enough = 2, MOST_SEEDS  # power grows with the seeds
    while enough - below > 1:
        middle = (below + enough) // 2
        below, enough = (below, middle) if found(middle) >= POWER else (middle, enough)
    return enough
