"""What mixtures scored: one row for each of them, from runs with several seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rota.analysis._groups import counted_tasks
from rota.arrays import Floats
from rota.errors import RotaError
from rota.runlog import Run

Measure = Literal["score", "loss"]
"""What is modelled: the score of a task on its dev rows, or its loss there."""


@dataclass(frozen=True)
class MixtureTable:
    """Mixtures and what they scored.

    Args:
        sources: What was mixed.
        shares: Of each source in each mixture; every row adds up to 1.
        scores: Of each task that counts, by mixture: means over seeds; higher is better, so losses are negative.
        noise: Standard deviation of one run's mean score around that of its mixture, without the luck that a seed
            brings to all mixtures; not a number with one seed.
        seeds: Most that a mixture has.

    >>> shares, scores = np.array([[0.5, 0.5], [0.2, 0.8]]), {"rte": np.array([0.6, 0.5])}
    >>> table = MixtureTable(("rte", "mrpc"), shares, scores, noise=0.01, seeds=3)
    >>> table.shares[table.scores["rte"].argmax()].tolist()  # the mixture that is best for rte
    [0.5, 0.5]
    """

    sources: tuple[str, ...]
    shares: Floats
    scores: Mapping[str, Floats]
    noise: float
    seeds: int


def read_mixtures(runs: Iterable[Run], measure: Measure = "score") -> dict[int, MixtureTable]:
    """From finished runs of `rota.comparisons.headroom_comparison`, by the number of their steps.

    >>> from rota.testing import written_run
    >>> def made(rte, mnli, share, seed):
    ...     options = {"weights": {"rte": share, "mnli": 1 - share}}
    ...     return written_run({"rte": [rte], "mnli": [mnli]}, "fixed", seed, plan={"options": options, "steps": 9})
    >>> runs = [made(0.5, 0.7, 0.5, 0), made(0.6, 0.7, 0.5, 1), made(0.7, 0.7, 0.8, 0), made(0.8, 0.7, 0.8, 1)]
    >>> table = read_mixtures(runs)[9]
    >>> table.shares.round(2).tolist(), table.scores["rte"].round(2).tolist(), round(table.noise, 6)
    ([[0.5, 0.5], [0.8, 0.2]], [0.55, 0.75], 0.0)
    """
    found: dict[int, dict[tuple[float, ...], dict[int, dict[str, float]]]] = {}
    sources: tuple[str, ...] = ()
    for run in runs:
        weights = run.plan["options"]["weights"]
        sources = sources or tuple(weights)
        total = sum(weights.values())
        mixture = tuple(weights[task] / total for task in sources)
        dev = run.summary["best"]["dev"]["tasks"]
        sign = -1 if measure == "loss" else 1
        values = {task: dev[task][measure] for task in counted_tasks(run)}
        if lacking := [task for task, value in values.items() if value is None]:
            raise RotaError(f"{run.folder}: expected a {measure} of every task. Found none of {', '.join(lacking)}.")
        own = found.setdefault(run.plan["steps"], {}).setdefault(mixture, {})
        own[run.plan["seed"]] = {task: sign * float(value) for task, value in values.items()}
    return {steps: _table(sources, own) for steps, own in sorted(found.items())}


def _table(
    sources: tuple[str, ...], found: Mapping[tuple[float, ...], Mapping[int, Mapping[str, float]]]
) -> MixtureTable:
    rows = [(place, seed) for place, own in enumerate(found.values()) for seed in own]
    seeds = sorted({seed for _, seed in rows})
    tasks = next(iter(next(iter(found.values())).values()))
    values = np.array([[own[seed][task] for task in tasks] for own in found.values() for seed in own])
    means, left = _without_luck(rows, seeds, values, len(found))
    freedom = len(rows) - len(found) - len(seeds) + 1
    noise = float(np.sqrt((left.mean(axis=1) ** 2).sum() / freedom)) if freedom > 0 else float("nan")
    scores = {task: means[:, k] for k, task in enumerate(tasks)}
    return MixtureTable(sources, np.array(list(found)), scores, noise, max(len(own) for own in found.values()))


def _without_luck(
    rows: Sequence[tuple[int, int]], seeds: Sequence[int], values: Floats, n: int
) -> tuple[Floats, Floats]:
    """What each mixture scored with the average seed, and what is left of each run: least squares with an effect
    of each mixture and of each seed, so that a mixture that lacks a seed has no advantage of it."""
    design = np.zeros((len(rows), n + len(seeds)))
    for row, (place, seed) in enumerate(rows):
        design[row, place] = design[row, n + seeds.index(seed)] = 1
    effects, *_ = np.linalg.lstsq(design, values, rcond=None)
    means = effects[:n] + effects[n:].mean(axis=0)
    return means, values - design @ effects
