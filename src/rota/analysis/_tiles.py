"""Tiles: what each task had in each stretch of a run, mean over runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from rota.analysis._mean_curves import mean_curve
from rota.analysis._run_history import RunHistory
from rota.arrays import Floats


@dataclass(frozen=True)
class Tiles:
    """A number per task and stretch of the run.

    Args:
        edges: Where the stretches begin and end; one more than there are columns.
        labels: What each stretch is called.
        values: Tasks × stretches; not a number where there is none.
    """

    edges: Floats
    labels: list[str]
    values: Floats


def mixture_tiles(histories: Sequence[RunHistory], tasks: Sequence[str]) -> Tiles:
    """The mixture that the policy held at each evaluation, mean over runs. Tiles are centred on the evaluations."""
    return _tiles([[history.mixture.get(task, {}) for history in histories] for task in tasks])


def uncertainty_tiles(histories: Sequence[RunHistory], tasks: Sequence[str]) -> Tiles:
    """What the surveys measured, mean over runs, in units of the largest number: methods may measure by other scores,
    in other units."""
    found = _tiles([[history.uncertainty.get(task, {}) for history in histories] for task in tasks])
    known = found.values[np.isfinite(found.values)]
    return replace(found, values=found.values / (known.max(initial=0.0) or 1.0))


def _tiles(series: Sequence[Sequence[Mapping[int, float]]]) -> Tiles:
    """From the numbers of each run by step, for each task."""
    curves = list(map(mean_curve, series))
    steps = sorted({int(step) for curve in curves for step in curve.steps})
    values = np.full((len(series), len(steps)), np.nan)
    for row, curve in enumerate(curves):
        values[row, np.searchsorted(steps, curve.steps)] = curve.mean
    return Tiles(_edges_around(steps), [f"at update {step}" for step in steps], values)


def realised_tiles(histories: Sequence[RunHistory], tasks: Sequence[str]) -> Tiles:
    """The share of the turns that each task got between two evaluations, mean over runs.

    A joint step is a turn of every task in it, so the shares of a stretch always add up to one.
    """
    ends = {last + 1 for history in histories for last, _ in history.turns[-1:]}  # updates after the last evaluation
    edges = sorted({0, *ends}.union(*(history.evaluations for history in histories)))
    rows = {task: row for row, task in enumerate(tasks)}
    counts = np.zeros((len(histories), len(tasks), max(len(edges) - 1, 0)))
    for run, history in enumerate(histories):
        at = np.searchsorted(edges, [step for step, _ in history.turns], side="right") - 1
        for column, (_, chosen) in zip(at, history.turns, strict=True):
            for task in chosen:
                counts[run, rows[task], column] += 1
    turns = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, turns, out=np.zeros_like(counts), where=turns > 0)
    runs = (turns > 0).sum(axis=0)
    values = np.divide(shares.sum(axis=0), runs, out=np.full(counts.shape[1:], np.nan), where=runs > 0)
    known = {task for history in histories for task in history.tasks}
    values[[task not in known for task in tasks]] = np.nan  # never asked for, which is not the same as never chosen
    labels = [f"updates {start + 1}–{end}" for start, end in pairwise(edges)]
    return Tiles(np.array(edges, dtype=np.float64), labels, values)


def _edges_around(steps: Sequence[int]) -> Floats:
    """Half-way between neighbours; the outer tiles are as wide as their neighbours.

    >>> _edges_around([0, 10, 30]).tolist()
    [-5.0, 5.0, 20.0, 40.0]
    """
    if len(steps) < 2:
        return np.array([edge for step in steps for edge in (step - 0.5, step + 0.5)])
    middles = (np.array(steps[1:]) + np.array(steps[:-1])) / 2
    return np.array([2 * steps[0] - middles[0], *middles, 2 * steps[-1] - middles[-1]])
