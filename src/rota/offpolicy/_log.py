"""Decisions with their probabilities and rewards, from runs or arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rota.arrays import Floats
from rota.errors import RotaError
from rota.offpolicy._reward import Reward, Visit, improving
from rota.runlog import Run, present_tasks

LogSource = Path | str | Sequence[Path | str] | tuple[ArrayLike, ArrayLike, ArrayLike]


@dataclass(frozen=True)
class Log:
    """What was decided, in the order of the decisions.

    Args:
        tasks: Names of all tasks that could be chosen.
        chosen: Number of the task of each decision.
        probabilities: How likely that choice was.
        rewards: What it earned.
        starts: Where a run begins, if there are several.
        auxiliary: Tasks that are trained for the sake of the others.

    >>> log = as_log((["a", "b", "a"], [0.5, 0.5, 0.5], [1.0, 0.0, 0.5]))
    >>> log.tasks, log.counts().tolist(), log.mixture
    (('a', 'b'), [2, 1], {'a': 0.5, 'b': 0.5})
    """

    tasks: tuple[str, ...]
    chosen: NDArray[np.int64]
    probabilities: Floats
    rewards: Floats
    starts: tuple[int, ...] = (0,)
    auxiliary: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.chosen)

    def runs(self) -> list[tuple[NDArray[np.int64], Floats]]:
        """Tasks and rewards of the decisions of each run."""
        bounds = self.starts[1:]
        return list(zip(np.split(self.chosen, bounds), np.split(self.rewards, bounds), strict=True))

    def counts(self) -> NDArray[np.int64]:
        """Decisions for each task."""
        return np.bincount(self.chosen, minlength=len(self.tasks))

    @property
    def mixture(self) -> dict[str, float]:
        """The mixture that was drawn from: exactly, if it was always the same, else its mean over the steps, as far as
        the decisions show it. Shares of the decisions would vary at random, from log to log."""
        sizes, _ = self.totals()
        shares = np.divide(self.counts(), sizes, out=np.zeros(len(self.tasks)), where=sizes > 0)
        return dict(zip(self.tasks, (shares / shares.sum()).tolist(), strict=True))

    def totals(self) -> tuple[Floats, Floats]:
        """For each task Σ 1/π and Σ r/π over its decisions: all that a mixture's estimate depends on."""
        inverse = 1.0 / self.probabilities
        sizes = np.bincount(self.chosen, inverse, len(self.tasks))
        sums = np.bincount(self.chosen, inverse * self.rewards, len(self.tasks))
        return np.asarray(sizes, dtype=np.float64), np.asarray(sums, dtype=np.float64)


def as_log(source: Log | LogSource, reward: Reward = improving) -> Log:
    """A log from whatever one has: a run folder, several of them, or arrays `(tasks, probabilities, rewards)` in the
    order of the steps, with the tasks by name.

    >>> as_log((["a", "b", "a"], [0.5, 0.5, 0.5], [1.0, 0.0, 0.5])).rewards
    array([1. , 0. , 0.5])
    """
    if isinstance(source, Log):
        return source
    if isinstance(source, tuple):
        return _from_arrays(*source)
    return read_logs([source] if isinstance(source, Path | str) else source, reward)


def read_logs(folders: Iterable[Path | str], reward: Reward = improving) -> Log:
    """The decisions of one or several runs with the same tasks, one after the other: each step has its own probability.

    Args:
        folders: Run folders.
        reward: What a visit was worth. Rewards of a round that one draw decided (`Hold`) are one, their mean. Where
            tasks came and went, only decisions since the last change count: earlier ones were drawn from other tasks.

    >>> from rota.testing import written_run
    >>> run = written_run({"rte": [0.5, 0.6], "mnli": [0.6, 0.8]}, every=10)
    >>> log = read_logs([run.folder])
    >>> log.tasks, len(log), log.mixture
    (('rte', 'mnli'), 18, {'rte': 0.5, 'mnli': 0.5})
    """
    runs = [Run(folder) for folder in folders]
    if not runs:
        raise RotaError("Expected at least one run folder. Found none.")
    names = [_trained(run) for run in runs]
    different = [run.folder for run, own in zip(runs, names, strict=True) if set(own) != set(names[0])]
    if different:
        raise RotaError(
            f"Expected runs on the same tasks. Found other ones in {different[0]} than in {runs[0].folder}."
        )
    logs = [_read(run, names[0], reward) for run in runs]
    return Log(
        names[0],
        np.concatenate([log.chosen for log in logs]),
        np.concatenate([log.probabilities for log in logs]),
        np.concatenate([log.rewards for log in logs]),
        (0, *np.cumsum([len(log) for log in logs[:-1]]).tolist()),
        frozenset(task for task in names[0] if runs[0].info["tasks"][task].get("auxiliary")),
    )


def _trained(run: Run) -> tuple[str, ...]:
    """Those that it can choose, at its end."""
    return tuple(name for name in present_tasks(run.info) if run.info["tasks"][name]["rows"].get("train", 0) != 0)


def _read(run: Run, tasks: tuple[str, ...], reward: Reward) -> Log:
    units = {task: info["unit"] for task, info in run.info["tasks"].items()}  # of -log p
    since = max((change["step"] for change in run.task_changes), default=0)
    previous: dict[str, float] = {}
    decisions: dict[Any, tuple[int, float, list[float]]] = {}
    for line in run.lines("step"):
        task, probability = line["task"], line["probability"]
        if task is None or probability is None:
            raise RotaError(
                f"{run.folder}, step {line['step']}: expected a step on one task that was drawn. Found one on several, "
                f"which has no probability: off-policy estimates need runs with one task per step."
            )
        loss = line["loss"] / units[task]
        worth = reward(Visit(loss, line["value"], previous.get(task)))
        previous[task] = loss
        if worth is not None and line["step"] >= since:
            # Steps of a round were decided by one draw, so they are one decision.
            key = ("step", line["step"]) if line["round"] is None else ("round", line["round"])
            decisions.setdefault(key, (tasks.index(task), probability, []))[2].append(worth)
    chosen = np.array([k for k, _, _ in decisions.values()], dtype=np.int64)
    probabilities = np.array([p for _, p, _ in decisions.values()], dtype=np.float64)
    log = Log(
        tasks, chosen, probabilities, np.array([np.mean(own) for *_, own in decisions.values()], dtype=np.float64)
    )
    _check(log, str(run.folder))
    return log


def _from_arrays(tasks: ArrayLike, probabilities: ArrayLike, rewards: ArrayLike) -> Log:
    named, p, r = np.asarray(tasks), np.asarray(probabilities, dtype=np.float64), np.asarray(rewards, dtype=np.float64)
    if not named.ndim == p.ndim == r.ndim == 1 or not len(named) == len(p) == len(r):
        raise RotaError(f"Expected three arrays of one length. Found shapes {named.shape}, {p.shape} and {r.shape}.")
    names, chosen = np.unique(named, return_inverse=True)
    log = Log(tuple(str(name) for name in names), chosen.astype(np.int64), p, r)
    _check(log, "the arrays")
    return log


def _check(log: Log, where: str) -> None:
    """Refuse logs from which nothing can be estimated, with the task that is to blame."""
    if not len(log):
        raise RotaError(f"Expected decisions in {where}. Found none with a reward.")
    wrong = np.flatnonzero(~((log.probabilities > 0) & (log.probabilities <= 1)))
    if len(wrong):
        task, p = log.tasks[log.chosen[wrong[0]]], log.probabilities[wrong[0]]
        raise RotaError(f"Expected probabilities above 0 and up to 1. Found {p} for task '{task}' in {where}.")
    if not np.isfinite(log.rewards).all():
        task = log.tasks[log.chosen[np.flatnonzero(~np.isfinite(log.rewards))[0]]]
        raise RotaError(f"Expected rewards that are numbers. Found others for task '{task}' in {where}.")
    if len(log.tasks) > 1 and (log.probabilities == 1.0).any():
        task = log.tasks[log.chosen[np.flatnonzero(log.probabilities == 1.0)[0]]]
        raise RotaError(
            f"Expected decisions that were drawn. Found task '{task}' chosen with certainty in {where}, which says "
            f"nothing about other mixtures. Log with `uniform`, or with a floor."
        )
