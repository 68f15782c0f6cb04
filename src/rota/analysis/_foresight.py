"""What learning curves of dev scores predict, and how accurate that was."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rota.analysis._run_history import RunHistory
from rota.curves import fit_points
from rota.runlog import Run
from rota.schedules import RateShape, learning_rate

FEWEST = 4  # evaluations that a curve needs
MORE = 0.1  # of the updates
Z = 1.96


@dataclass(frozen=True)
class Foresight:
    """Of one task of one run, in units of its score.

    Args:
        gain, gain_reach: What a tenth more updates should bring, and how far to both sides its 95 % interval reaches.
        predicted, reach: The last score, from the first half of the evaluations alone, and its interval.
        before, realised: The score at the end of that half, and the last one.

    >>> found = Foresight(gain=0.01, gain_reach=0.02, predicted=0.71, reach=0.03, before=0.65, realised=0.73)
    >>> found.held
    True
    """

    gain: float
    gain_reach: float
    predicted: float
    reach: float
    before: float
    realised: float

    @property
    def held(self) -> bool:
        """Whether the last score was inside the interval."""
        return abs(self.realised - self.predicted) <= self.reach


def foresight(run: Run, history: RunHistory) -> Mapping[str, Foresight]:
    """For every task whose dev scores have a curve: visits are weighted by the learning rate they had, since those at
    the end of a schedule hardly teach.

    >>> from rota.analysis import read_history
    >>> from rota.testing import written_run
    >>> run = written_run({"rte": [0.8 - 0.3 * 0.7**k for k in range(12)]}, every=20, plan={"schedule": "constant"})
    >>> found = foresight(run, read_history(run))["rte"]
    >>> round(found.predicted, 2), round(found.realised, 2), found.held
    (0.8, 0.79, True)
    """
    found = {}
    for task, visits in _weighted_visits(run, history).items():
        score = history.score.get(task, {})
        places = [k for k, step in enumerate(history.evaluations) if step in score]
        half = (len(places) + 1) // 2
        x, y = visits[places], np.array([score[history.evaluations[k]] for k in places])
        if half < FEWEST or not x[half - 1] > 0:
            continue
        whole, first = fit_points(x, y), fit_points(x[:half], y[:half])
        gain, doubt = whole.gain_until((1.0 + MORE) * x[-1])
        rise, unsure = first.gain_until(x[-1])
        # From the last score that was seen, not from the curve: curves are only nearly of the shapes in the bank.
        reach = Z * np.hypot(unsure, np.sqrt(2.0) * first.noise)
        found[task] = Foresight(
            gain, Z * doubt, float(y[half - 1]) + rise, float(reach), float(y[half - 1]), float(y[-1])
        )
    return found


def _weighted_visits(run: Run, history: RunHistory) -> dict[str, np.ndarray]:
    """Visits of each task before each evaluation, each counted by the learning rate it had."""
    steps = run.plan.get("steps")  # who trains in a loop of his own knows his learning rates, nobody else does
    last = history.turns[-1][0] if history.turns else 0
    rates = [1.0] * (last + 1)
    if steps is not None:
        warmup = round(run.plan.get("warmup", 0.0) * steps)
        rates = _rates(run.plan.get("schedule", "linear"), warmup, steps, last + 1)
    seen, found, turn = dict.fromkeys(history.tasks, 0.0), [], 0
    for step in history.evaluations:
        while turn < len(history.turns) and history.turns[turn][0] < step:
            for task in history.turns[turn][1]:
                seen[task] += rates[history.turns[turn][0]]
            turn += 1
        found.append(list(seen.values()))
    columns = np.array(found).reshape(-1, len(seen)).T
    return dict(zip(seen, columns, strict=True))


@functools.lru_cache(maxsize=16)
def _rates(shape: RateShape, warmup: int, steps: int, count: int) -> list[float]:
    """The learning rates of the first steps: runs that are compared have the same."""
    rate = learning_rate(shape, warmup, steps)
    return [rate(step) for step in range(count)]
