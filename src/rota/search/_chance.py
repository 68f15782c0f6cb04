"""Random ratios: the baseline of a search."""

from __future__ import annotations

from collections.abc import Sequence

from rota.search._search import ratio_space
from rota.search._space import Bounds
from rota.seeds import generator

DRAWS = 100_000


def draw_ratio(
    primary: str,
    tasks: Sequence[str],
    seed: int,
    primary_bounds: Bounds = (1, 20),
    auxiliary_bounds: Bounds = (0, 5),
) -> dict[str, int]:
    """One of the ratios that a search could propose.

    >>> draw_ratio("rte", ["mnli", "rte"], seed=0)
    {'rte': 8, 'mnli': 3}
    """
    names = [primary, *(task for task in tasks if task != primary)]
    space = ratio_space(names, primary_bounds, auxiliary_bounds)
    point = space.draw(generator(seed, "random ratio"), 1)[0]
    return {task: int(count) for task, count in zip(names, point, strict=True)}


def mean_random_share(auxiliaries: int, primary_bounds: Bounds = (1, 20), auxiliary_bounds: Bounds = (0, 5)) -> float:
    """The share of all batches that one of so many auxiliaries has on average over such ratios.

    >>> round(mean_random_share(1), 2)
    0.23
    """
    names = [str(k) for k in range(auxiliaries + 1)]
    points = ratio_space(names, primary_bounds, auxiliary_bounds).draw(generator(0, "shares"), DRAWS)
    return float((points[:, 1] / points.sum(axis=1)).mean())
