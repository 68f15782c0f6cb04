"""When is a training hopeless?"""

from __future__ import annotations

import math

import numpy as np
from optuna.pruners import BasePruner
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

FEWEST = 5
"""Trainings that have to be finished before any is stopped."""
BEGINNING = 1 / 3
"""Share of a training in which scores say little about its end."""
WORST = 0.25
"""Only what is among so many of the worst is hopeless. The median, which is usual, stops good trainings, too: it is
asked at every evaluation, and at one of them most are below it."""


class HopelessPruner(BasePruner):
    """Stops a training whose score is in the lowest quarter of what the others had at the same step."""

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        step = trial.last_step
        others = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED))
        finished = [other for other in others if other.state == TrialState.COMPLETE and other.last_step is not None]
        if step is None or len(finished) < FEWEST:
            return False
        if step < BEGINNING * max(other.last_step or 0 for other in finished):
            return False
        there = [other.intermediate_values[step] for other in others if step in other.intermediate_values]
        there = [value for value in there if math.isfinite(value)]
        value = trial.intermediate_values[step]
        return bool(there) and not value >= float(np.quantile(there, WORST))
