"""One worker's share of a search: take a trial, train, tell; until all trials are there."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import optuna
from optuna.distributions import IntDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from rota.errors import RotaError
from rota.search._pruner import HopelessPruner
from rota.search._result import Number, RatioSearch, RatioTrial
from rota.search._space import Mixtures
from rota.search._storage import open_storage
from rota.search._trial_history import PROPOSAL, REUSED, live_before
from rota.search._workers import SETTINGS, Worker, requeue

if TYPE_CHECKING:
    from optuna.storages import BaseStorage

Objective = Callable[[dict[str, Number], int, Callable[[int, float], None]], float]

VALUES, STEPS = "values", "steps"  # user attributes of a finished trial
GRACE = 4  # heartbeats without a sign of life
POLL = 0.2  # seconds between two looks at what others are doing


class SurplusError(Exception):
    """This trial is one too many: another worker was faster."""


@dataclass(frozen=True)
class Agreement:
    """What the workers of a study have in common.

    Attributes:
        name: Of the study.
        settings: They have to be equal.
        trials: How many in all. A later worker may ask for more.
        budget_steps: After so many training steps no further trial begins.
        pruning: Whether hopeless trainings are stopped.
    """

    name: str
    settings: dict[str, Any]
    trials: int
    budget_steps: int | None
    pruning: bool


def run_search(
    objective: Objective,
    space: Mixtures,
    agreement: Agreement,
    storage: str | BaseStorage | None,
    sampler: BaseSampler,
    *,
    heartbeat: int,
    on_trial: Callable[[RatioTrial, RatioSearch], object] | None,
) -> RatioSearch:
    """Work on the study until it is complete."""
    worker = Worker(heartbeat, GRACE * heartbeat)
    pruner = HopelessPruner() if agreement.pruning else optuna.pruners.NopPruner()
    with open_storage(storage, heartbeat, worker.grace, requeue) as place, worker.present():
        study = optuna.create_study(
            storage=place,
            sampler=sampler,
            pruner=pruner,
            study_name=agreement.name,
            direction="maximize",
            load_if_exists=True,
        )
        _agree(study, agreement)
        share = WorkShare(study, objective, space, agreement, worker)
        while True:
            worker.rescue(study)
            if share.more():
                number = share.work()
                known = read_trials(study, space)
                if on_trial is not None and number in known:
                    on_trial(known[number], RatioSearch(study.study_name, tuple(known.values()), space))
            elif any(trial.state == TrialState.RUNNING for trial in study.get_trials(deepcopy=False)):
                time.sleep(POLL)  # the others may finish, or die and leave a trial
            else:
                return RatioSearch(study.study_name, tuple(read_trials(study, space).values()), space)


def _agree(study: Study, agreement: Agreement) -> None:
    known = study.user_attrs.get(SETTINGS)
    if known is None:
        study.set_user_attr(SETTINGS, agreement.settings)
        return
    known = {"space": "shares", **known}  # what older searches saw, which did not say so
    wrong = [key for key, value in agreement.settings.items() if known.get(key) != value]
    if wrong:
        said = "; ".join(f"{key} {known.get(key)} there, {agreement.settings[key]} here" for key in wrong)
        raise RotaError(f"The study '{study.study_name}' is another search: {said}. Give this one a name of its own.")


@dataclass
class WorkShare:
    """What one worker does for a study."""

    study: Study
    objective: Objective
    space: Mixtures
    agreement: Agreement
    worker: Worker
    _trained: bool = False

    def more(self) -> bool:
        """Is there a trial to begin?"""
        live = [t for t in self.study.get_trials(deepcopy=False) if t.state != TrialState.FAIL]
        if any(trial.state == TrialState.WAITING for trial in live):
            return True
        return len(live) < self.agreement.trials and not self._spent(live)

    def _spent(self, live: list[FrozenTrial]) -> bool:
        """Are the steps of the budget used up?  A trial under way counts as the longest so far."""
        budget = self.agreement.budget_steps
        if budget is None:
            return False
        used = [trial.user_attrs.get(STEPS, 0) for trial in live if trial.state.is_finished()]
        running = len(live) - len(used)
        return bool(sum(used) + running * max(used, default=0) >= budget)

    def work(self) -> int | None:
        """Take one trial to its end; returns its number in the study, or None if it was not needed."""
        taken: list[int] = []

        def evaluate(trial: Trial) -> float:
            with self.worker.lease(self.study, trial):
                if len(live_before(self.study, trial.number)) >= self.agreement.trials:
                    raise SurplusError
                taken.append(trial.number)
                return self._value(trial)

        self._trained = False
        try:
            self.study.optimize(evaluate, n_trials=1, catch=(SurplusError,))
        except (ValueError, AssertionError, RuntimeError):  # what Optuna raises where a trial is over
            if not self._trained:
                raise
            return None  # slow, not dead: the others gave this worker up, and one of them has its trial now
        return taken[0] if taken else None

    def _value(self, trial: Trial) -> float:
        """Train with the ratio of this trial, unless it is known."""
        ratio: dict[str, Number] = {
            name: trial.suggest_int(name, r.low, r.high)
            if isinstance(r, IntDistribution)
            else trial.suggest_float(name, 0.0, 1.0)
            for name, r in self.space.distributions().items()
        }
        if not any(ratio.values()):
            raise optuna.TrialPruned("Nothing at all is no ratio.")
        twin = self._twin(trial.number, ratio)
        if twin is not None:
            trial.set_user_attr(REUSED, twin.number)
            if twin.state == TrialState.PRUNED:
                raise optuna.TrialPruned
            return float(twin.values[0])
        steps = 0
        values: list[float] = []
        for k in range(self.agreement.settings["seeds_per_point"]):
            report = Report(trial if k == 0 else None)
            try:
                values.append(float(self.objective(dict(ratio), self.agreement.settings["seed"] + k, report)))
            except optuna.TrialPruned:
                self._note(trial, steps + report.steps, values)
                raise
            steps += report.steps
        self._note(trial, steps, values)
        if not all(math.isfinite(value) for value in values):
            raise optuna.TrialPruned("The training diverged.")
        return sum(values) / len(values)

    def _note(self, trial: Trial, steps: int, values: list[float]) -> None:
        if self.agreement.budget_steps is not None and not steps:
            raise RotaError("With budget_steps the objective has to call report(step, score), which counts the steps.")
        self._trained = True
        trial.set_user_attr(STEPS, steps)
        if values:
            trial.set_user_attr(VALUES, values)

    def _twin(self, number: int, ratio: dict[str, Number]) -> FrozenTrial | None:
        """An earlier trial of the same ratio; if it is still running, it is waited for."""
        while True:
            twins = [
                trial
                for trial in live_before(self.study, number)
                if REUSED not in trial.user_attrs and self._same(trial.params, ratio)
            ]
            finished = [trial for trial in twins if trial.state.is_finished()]
            if finished or not twins:
                return finished[0] if finished else None
            time.sleep(POLL)
            self.worker.rescue(self.study)

    def _same(self, params: dict[str, Any], ratio: dict[str, Number]) -> bool:
        if len(params) < len(ratio):
            return False
        rows = np.array([[float(of[name]) for name in self.space.names] for of in (params, ratio)])
        one, other = self.space.canonical(rows)
        return bool((one == other).all())


class Report:
    """What an objective calls in the middle of its training; counts the steps, and stops hopeless trainings."""

    def __init__(self, trial: Trial | None) -> None:
        self._trial = trial
        self.steps = 0

    def __call__(self, step: int, value: float) -> None:
        if step <= self.steps:
            return
        self.steps = step
        if self._trial is not None:
            self._trial.report(value, step)
            if self._trial.should_prune():
                raise optuna.TrialPruned


def read_trials(study: Study, space: Mixtures) -> dict[int, RatioTrial]:
    """The finished trials by their number in the study, which also counts those that failed."""
    live = [trial for trial in study.get_trials(deepcopy=False) if trial.state != TrialState.FAIL]
    return {
        trial.number: _trial(place, trial, space)
        for place, trial in enumerate(live)
        if trial.state.is_finished() and len(trial.params) == len(space.names)
    }


def _trial(place: int, trial: FrozenTrial, space: Mixtures) -> RatioTrial:
    notes = trial.user_attrs
    pruned = trial.state == TrialState.PRUNED
    return RatioTrial(
        number=place,
        ratio={name: trial.params[name] for name in space.names},
        value=trial.values[0] if trial.values else None,
        values=tuple(notes.get(VALUES, ())),
        state="pruned" if pruned else "reused" if REUSED in notes else "done",
        acquisition=notes[PROPOSAL]["chosen"] if PROPOSAL in notes else None,
        steps=notes.get(STEPS, 0),
        seconds=trial.duration.total_seconds() if trial.duration else 0.0,
    )
