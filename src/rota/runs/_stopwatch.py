"""How long updates and evaluations of a run take, from its first few."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rota.callbacks import Callback, RunStart

WARM_UP = 3  # updates that are not timed: the first ones allocate
LEAST, LONGEST = 20, 5.0  # so many updates are timed, or as many as there are in so many seconds
SECONDS = 0.3  # of updates at least, where an update takes no time


class EnoughError(Exception):
    """Enough updates have been timed: the only way out of a run between two evaluations."""


@dataclass(frozen=True)
class Lap:
    """Seconds of one update, or of one evaluation.

    Args:
        now: On the machine as it is now.
        alone: For how long the thread that trains was at work: what it would take if nobody else used the machine.
    """

    now: float
    alone: float


class Stopwatch(Callback):
    """Times updates and evaluations of a run, and leaves it."""

    def __init__(self) -> None:
        self.updates: list[Lap] = []
        self.evaluations: list[Lap] = []

    def on_start(self, start: RunStart) -> None:
        self.steps, self.began = start.settings.steps, time.perf_counter()
        self._last, self._worked = self.began, time.thread_time()

    def on_evaluate(self, done: int, evaluation: Mapping[str, Any], mixture: Mapping[str, float]) -> str | None:
        self.evaluations.append(self._lap())
        return None

    def on_step(self, done: int) -> None:
        self.updates.append(self._lap())
        timed = self.updates[WARM_UP:]
        seconds = sum(lap.now for lap in timed)
        if (len(timed) >= LEAST and seconds >= SECONDS) or seconds >= LONGEST or done == self.steps:
            raise EnoughError

    def _lap(self) -> Lap:
        before, self._last = self._last, time.perf_counter()
        worked, self._worked = self._worked, time.thread_time()
        return Lap(self._last - before, self._worked - worked)

    @property
    def update(self) -> Lap:
        return usual(self.updates[WARM_UP:] or self.updates)

    @property
    def evaluation(self) -> Lap:
        return usual(self.evaluations[1:] or self.evaluations)


def usual(laps: Sequence[Lap]) -> Lap:
    """The mean of the middle half: a median says little where tasks differ, and a burst of other work says nothing
    about a run.

    >>> usual([Lap(1, 1), Lap(2, 1), Lap(2, 1), Lap(50, 1)])
    Lap(now=2.0, alone=1.0)
    """
    quarter = len(laps) // 4
    middle = np.sort([lap.now for lap in laps])[quarter : len(laps) - quarter]
    return Lap(float(np.mean(middle)), float(np.mean([lap.alone for lap in laps])))
