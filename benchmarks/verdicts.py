"""How often are the verdicts of `rota claims` wrong, and is power as predicted?

    python benchmarks/verdicts.py           # 20,000 tables of eight claims for each line
    python benchmarks/verdicts.py 2000

Simulated differences between seeds go through the same function as those of runs. Claims of one table share baselines,
so half of the lines have differences that are correlated across claims (0.5).
"""

from __future__ import annotations

import sys

import numpy as np

from rota.analysis import Predicted, decide, power, seeds_for

CLAIMS, SEEDS, MOST_WRONG, MOST_OFF = 8, (3, 5, 20), 0.06, 0.05
HOLDS, EXCLUDED = "holds", "an effect of the printed size is excluded"
NONE = np.full(CLAIMS, np.nan)


def drawn(effects, seeds: int, tables: int, together: float, rng) -> tuple:
    """Mean, error and number of seeds of tables whose claims have these effects, in standard deviations."""
    shared = rng.normal(size=(tables, 1, seeds))
    noise = np.sqrt(together) * shared + np.sqrt(1 - together) * rng.normal(size=(tables, len(effects), seeds))
    found = np.asarray(effects)[:, None] + noise
    return found.mean(-1), found.std(-1, ddof=1) / np.sqrt(seeds), np.full(found.shape[:-1], seeds)


def size_for(seeds: int, wanted: float, level: float) -> float:
    """The effect that so many seeds find so often, in standard deviations."""
    low, high = 0.0, 100.0
    for _ in range(60):
        low, high = (
            (low, (low + high) / 2) if power((low + high) / 2, seeds, level) > wanted else ((low + high) / 2, high)
        )
    return high


def planned_from_a_pilot(seeds: int, rng, pilots: int = 400) -> tuple:
    """The seeds that an effect of one standard deviation needs, and the quartiles of what pilots make of it, who know
    the effect but estimate the deviation."""
    deviations = rng.normal(size=(pilots, seeds)).std(1, ddof=1)
    found = [seeds_for(lambda n, size=1 / own: power(size, n)) or np.inf for own in deviations]
    return seeds_for(lambda n: power(1.0, n)), *np.quantile(found, [0.25, 0.75])


def main(tables: int = 20_000) -> int:
    rng, broken = np.random.default_rng(0), 0
    none, eight = np.zeros(CLAIMS), np.linspace(0.2, 2.0, CLAIMS)
    print(f"{tables} tables of {CLAIMS} claims; any false verdict in at most {MOST_WRONG:.0%} of them, power within ±5")
    print("seeds  correlated   false holds   false excluded   power predicted   found")
    for seeds in SEEDS:
        for together in (0.0, 0.5):
            claims = Predicted(np.ones(CLAIMS), np.full(CLAIMS, 2.0), NONE, NONE)
            null = (decide(*drawn(none, seeds, tables, together, rng), claims).verdict == HOLDS).any(1).mean()
            true = decide(*drawn(eight, seeds, tables, together, rng), claims._replace(printed=eight))
            wrong = (true.verdict == EXCLUDED).any(1).mean()
            one = np.array([size_for(seeds, 0.8, 0.05 / CLAIMS), *none[1:]])
            found = (decide(*drawn(one, seeds, tables, together, rng), claims).verdict[:, 0] == HOLDS).mean()
            kept = max(null, wrong) <= MOST_WRONG and abs(found - 0.8) <= MOST_OFF
            broken += not kept
            told = f"{null:11.1%}   {wrong:14.1%}   {0.8:15.1%}   {found:5.1%}   {'kept' if kept else 'BROKEN'}"
            print(f"{seeds:5}   {together:10}   {told}")
    for seeds in SEEDS:
        told = planned_from_a_pilot(seeds, rng)
        print(f"seeds needed as {seeds} seeds say (true: {told[0]}): half of the time {told[1]:.0f} to {told[2]:.0f}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
