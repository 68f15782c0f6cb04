"""What a study already knows, as a sampler needs it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from rota.arrays import Floats

if TYPE_CHECKING:
    from rota.search._space import Space


PROPOSAL = "proposal"  # the user attribute in which a trial keeps who proposed it
REUSED = "reused"  # the user attribute of a trial that took its value from an earlier one
POLL = 0.05  # seconds between two looks at the storage


@dataclass(frozen=True)
class TrialHistory:
    """The trials before one trial.

    Attributes:
        count: How many there are; failed ones do not count.
        points: The finished ones with a value of their own, one per row.
        values: Their values, to be maximised.
        pending: Points that others are working on.
        proposals: For each acquisition what it proposed in finished trials, one row per trial.
    """

    count: int
    points: Floats
    values: Floats
    pending: Floats
    proposals: dict[str, Floats]

    def taken(self) -> Floats:
        """Points that need no second evaluation."""
        return np.vstack([self.points, self.pending])


def live_before(study: Study, number: int) -> list[FrozenTrial]:
    """Trials with a lower number that have not failed: finished, running or waiting."""
    trials = study.get_trials(deepcopy=False)
    return [trial for trial in trials if trial.number < number and trial.state != TrialState.FAIL]


def read_history(study: Study, number: int, space: Space, patience: float) -> TrialHistory:
    """What is known before trial `number`.

    A worker that has begun an earlier trial but not yet written down its point is waited for, `patience` seconds at
    most: otherwise both would propose the same.
    """
    deadline = time.monotonic() + patience
    while True:
        before = live_before(study, number)
        undecided = [t for t in before if t.state == TrialState.RUNNING and not _decided(t, space)]
        if not undecided or time.monotonic() > deadline:
            break
        time.sleep(POLL)
    before = [trial for trial in before if _decided(trial, space)]
    sign = -1.0 if study.direction == StudyDirection.MINIMIZE else 1.0
    own = [t for t in before if t.state.is_finished() and REUSED not in t.user_attrs]
    values = _values(own, sign)
    own = own if len(values) else []
    known = {trial.number for trial in own}
    pending = [trial for trial in before if trial.number not in known and REUSED not in trial.user_attrs]
    return TrialHistory(
        count=len(live_before(study, number)),
        points=_points(own, space),
        values=values,
        pending=_points(pending, space),
        proposals=_proposals(own, space),
    )


def _decided(trial: FrozenTrial, space: Space) -> bool:
    return all(name in trial.params for name in space.names)


def _points(trials: list[FrozenTrial], space: Space) -> Floats:
    rows = [[float(trial.params[name]) for name in space.names] for trial in trials]
    return np.array(rows, dtype=float).reshape(len(rows), len(space.names))


def _values(trials: list[FrozenTrial], sign: float) -> Floats:
    """Finished values; a pruned trial counts as what it last reported, but never as better than the median of the
    finished ones, and as the worst of them if it reported nothing. Empty as long as nothing has finished."""
    done = [sign * trial.values[0] for trial in trials if trial.state == TrialState.COMPLETE and trial.values]
    if not done:
        return np.zeros(0)
    values = []
    for trial in trials:
        value = sign * trial.values[0] if trial.values else min(done)
        if trial.state == TrialState.PRUNED:
            value = min(value, float(np.median(done)))
        values.append(value if np.isfinite(value) else min(done))
    return np.array(values)


def _proposals(trials: list[FrozenTrial], space: Space) -> dict[str, Floats]:
    notes: list[dict[str, Any]] = [t.user_attrs[PROPOSAL]["candidates"] for t in trials if PROPOSAL in t.user_attrs]
    if not notes:
        return {}
    return {name: np.array([[note[name][key] for key in space.names] for note in notes]) for name in notes[0]}
