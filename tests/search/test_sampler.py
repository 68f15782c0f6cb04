"""The sampler proposes what follows from its seed and the finished trials, and nothing else."""

from __future__ import annotations

import numpy as np
import optuna
import pytest

from rota.errors import RotaError
from rota.search import GPHedgeSampler
from rota.search._acquisition import PORTFOLIO
from rota.search._sampler import RandomPoints
from rota.search._space import Ratios
from rota.search._trial_history import read_history

SPACE = Ratios({"a": (1, 20), "b": (0, 5), "c": (0, 5)})


@pytest.fixture(autouse=True)
def quiet():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


def concave(params):
    ratio = np.array([params["a"], params["b"], params["c"]], dtype=float)
    return -float(((ratio / ratio.sum() - np.array([9, 1, 4]) / 14) ** 2).sum())


def new_study(sampler, direction="maximize"):
    return optuna.create_study(direction=direction, sampler=sampler)


def play(study, trials, make_sampler=None, sign=1):
    for _ in range(trials):
        if make_sampler is not None:
            study.sampler = make_sampler()
        trial = study.ask(SPACE.distributions())
        study.tell(trial, sign * concave(trial.params))
    return [trial.params for trial in study.trials]


def test_the_same_seed_proposes_the_same_and_the_sampler_remembers_nothing():
    def sampler(seed=4):
        return GPHedgeSampler(seed, initial=3, space=SPACE)

    study = new_study(sampler())
    straight = play(study, 8)
    assert play(new_study(sampler()), 8, make_sampler=sampler) == straight
    assert play(new_study(sampler(5)), 8) != straight
    again = new_study(sampler())
    again.add_trials(study.trials[:6])  # the history may come from anywhere
    assert again.ask(SPACE.distributions()).params == straight[6]


def test_minimising_the_opposite_is_the_same_search():
    sampler = GPHedgeSampler(1, initial=3, space=SPACE)
    assert play(new_study(sampler), 6) == play(new_study(sampler, "minimize"), 6, sign=-1)


def test_no_ratio_is_proposed_twice():
    params = play(new_study(GPHedgeSampler(0, initial=4, space=SPACE)), 12)
    rows = SPACE.canonical(np.array([[p["a"], p["b"], p["c"]] for p in params], dtype=float))
    assert len(np.unique(rows, axis=0)) == 12


def test_the_first_trials_are_random_and_the_others_say_who_proposed_them():
    study = new_study(GPHedgeSampler(0, initial=4, space=SPACE))
    random = play(new_study(RandomPoints(0, space=SPACE)), 4)
    assert play(study, 6)[:4] == random
    notes = [trial.user_attrs.get("proposal") for trial in study.trials]
    assert notes[:4] == [None] * 4
    for trial, note in zip(study.trials[4:], notes[4:], strict=True):
        assert note["chosen"] in PORTFOLIO
        assert note["candidates"][note["chosen"]] == trial.params
        assert note["deviation"] > 0


def test_gains_are_the_posterior_means_at_what_each_acquisition_named():
    class Spy(GPHedgeSampler):
        def _fit(self, space, history, rng):
            self.surrogate = super()._fit(space, history, rng)
            return self.surrogate

    spy = Spy(2, initial=3, space=SPACE)
    study = new_study(spy)
    play(study, 8)
    before, last = study.trials[3:7], study.trials[7]
    for name in PORTFOLIO:
        named = [trial.user_attrs["proposal"]["candidates"][name] for trial in before]
        points = np.array([[point[task] for task in "abc"] for point in named])
        mean, _ = spy.surrogate.predict(SPACE.features(points))
        assert last.user_attrs["proposal"]["gains"][name] == pytest.approx(mean.sum())


def test_running_trials_of_others_are_not_proposed_again():
    study = new_study(GPHedgeSampler(0, initial=3, space=SPACE))
    play(study, 5)
    asked = [study.ask(SPACE.distributions()).params for _ in range(4)]
    rows = SPACE.canonical(np.array([[p["a"], p["b"], p["c"]] for p in asked], dtype=float))
    assert len(np.unique(rows, axis=0)) == 4
    history = read_history(study, 9, SPACE, patience=0)
    assert (history.count, len(history.values), len(history.pending)) == (9, 5, 4)


def test_another_worker_that_has_not_decided_is_waited_for_but_not_for_ever():
    study = new_study(GPHedgeSampler(0, initial=1, space=SPACE, patience=0.2))
    study.ask()  # no point yet
    assert study.ask(SPACE.distributions()).params


def test_failed_trials_do_not_count_and_pruned_ones_are_no_better_than_the_median():
    study = new_study(GPHedgeSampler(0, initial=3, space=SPACE))
    straight = play(study, 3)
    other = new_study(GPHedgeSampler(0, initial=3, space=SPACE))
    for params in straight:
        other.tell(other.ask(SPACE.distributions()), state=optuna.trial.TrialState.FAIL)
        trial = other.ask(SPACE.distributions())
        assert trial.params == params
        other.tell(trial, concave(trial.params))
    trial = study.ask(SPACE.distributions())
    trial.report(100.0, 1)
    study.tell(trial, state=optuna.trial.TrialState.PRUNED)
    study.tell(study.ask(SPACE.distributions()), state=optuna.trial.TrialState.PRUNED)
    values = read_history(study, 99, SPACE, 0).values
    assert values[3] == pytest.approx(np.median(values[:3]))
    assert values[4] == pytest.approx(values[:3].min())


def test_a_space_that_is_used_up_still_gets_proposals():
    tiny = Ratios({"a": (1, 1), "b": (0, 2)})
    study = new_study(GPHedgeSampler(0, initial=1, space=tiny))
    for _ in range(5):
        trial = study.ask(tiny.distributions())
        study.tell(trial, float(trial.params["b"]))
    assert {trial.params["b"] for trial in study.trials[:3]} == {0, 1, 2}


def test_it_works_in_any_study_with_numbers_and_names():
    def objective(trial):
        x = trial.suggest_float("x", -1.0, 1.0)
        rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
        kind = trial.suggest_categorical("kind", ["one", "two"])
        return (x - 0.3) ** 2 + (np.log10(rate) + 2) ** 2 / 4 + (kind == "two") * 0.01

    found = []
    for seed in range(3):
        study = optuna.create_study(sampler=GPHedgeSampler(seed, initial=3))
        study.optimize(objective, n_trials=12)
        found.append(study.best_value)
    assert np.median(found) < 0.1
    assert "proposal" in study.trials[-1].user_attrs


def test_several_objectives_are_refused():
    study = optuna.create_study(directions=["maximize", "maximize"], sampler=GPHedgeSampler(0, space=SPACE))
    with pytest.raises(RotaError, match="one objective"):
        study.ask(SPACE.distributions())
