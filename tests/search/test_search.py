"""The search as a user calls it, with one worker."""

from __future__ import annotations

import math
import subprocess
import sys

import optuna
import pytest
from search_worker import TASKS, score

from rota.errors import RotaError
from rota.search import GPHedgeSampler, search_ratio


class KilledError(BaseException):
    """Not an `Exception`: like a kill, it leaves the trial as it is."""


def objective(ratio, seed, report):
    return score(ratio)


def tried(found):
    return [(dict(trial.ratio), trial.value, trial.acquisition) for trial in found.trials]


@pytest.mark.parametrize("place", ["sqlite:///{}/folder/study.db", "journal:{}/folder/study"])
def test_a_search_that_was_stopped_is_the_same_search(place, tmp_path):
    storage = place.format(tmp_path)
    straight = search_ratio(objective, TASKS, 12, seed=3)
    evaluated = []

    def stops_at(number, error):
        def unreliable(ratio, seed, report):
            if len(evaluated) == number:
                raise error
            evaluated.append(ratio)
            return score(ratio)

        return unreliable

    for number, error in ((3, KilledError), (7, KeyboardInterrupt), (7, ZeroDivisionError), (9, KilledError)):
        with pytest.raises(error):
            search_ratio(stops_at(number, error), TASKS, 12, storage, seed=3)
    resumed = search_ratio(stops_at(None, None), TASKS, 12, storage, seed=3)
    assert tried(resumed) == tried(straight)
    assert [dict(trial.ratio) for trial in resumed.trials] == evaluated
    assert [trial.number for trial in resumed.trials] == list(range(12))
    assert tried(search_ratio(stops_at(0, KilledError), TASKS, 12, storage, seed=3)) == tried(straight)
    assert len(search_ratio(objective, TASKS, 13, storage, seed=3).trials) == 13


def test_best_so_far_never_falls_and_ends_at_the_best():
    seen = []
    found = search_ratio(objective, TASKS, 9, on_trial=lambda trial, so_far: seen.append((trial, so_far)))
    curve = found.best_so_far
    assert list(curve) == sorted(curve)
    assert curve[-1] == found.value == max(trial.value for trial in found.trials)
    assert score(found.ratio) == found.value
    assert [trial.number for trial, _ in seen] == list(range(9))
    assert [so_far.value for _, so_far in seen] == list(curve)
    assert seen[-1][1] == found


def test_ratios_stay_in_their_bounds():
    found = search_ratio(objective, TASKS, 6, primary_bounds=(2, 4), auxiliary_bounds=(1, 2))
    for trial in found.trials:
        primary, *others = trial.ratio.values()
        assert primary in (2, 3, 4)
        assert set(others) <= {1, 2}
        assert all(isinstance(count, int) for count in trial.ratio.values())


def test_a_concave_function_is_climbed_more_often_than_by_chance():
    def shortfall(seed, sampler):
        def noisy(ratio, _, report):
            return score(ratio) + 0.001 * math.sin(1000 * seed + 100 * sum(ratio.values()))

        return -score(search_ratio(noisy, TASKS, 12, seed=seed, sampler=sampler).ratio)

    model, chance = ([shortfall(seed, sampler) for seed in range(4)] for sampler in ("gp-hedge", "random"))
    assert sum(model) < sum(chance) / 2
    assert sum(m < c for m, c in zip(model, chance, strict=True)) >= 3


@pytest.mark.parametrize("sampler", ["gp-hedge", "random", "grid"])
def test_shares_on_the_simplex_sum_to_one(sampler):
    found = search_ratio(objective, TASKS, 10, simplex=True, sampler=sampler)
    assert len(found.trials) == 10
    for trial in found.trials:
        assert sum(trial.ratio.values()) == pytest.approx(1.0)
        assert min(trial.ratio.values()) >= 0


def test_a_grid_is_spread_over_the_bounds():
    found = search_ratio(objective, TASKS, 12, sampler="grid")
    assert {trial.state for trial in found.trials} == {"done"}
    assert len({tuple(trial.ratio.values()) for trial in found.trials}) == 12


def test_repeated_ratios_are_not_trained_twice():
    trained = []

    def count(ratio, seed, report):
        trained.append(tuple(ratio.values()))
        return score(ratio)

    sampler = optuna.samplers.RandomSampler(seed=0)
    options = {"primary_bounds": (1, 2), "auxiliary_bounds": (0, 2), "sampler": sampler, "space": "shares"}
    found = search_ratio(count, TASKS, 30, **options)
    shapes = [tuple(n // math.gcd(*ratio) for n in ratio) for ratio in trained]
    assert len(set(shapes)) == len(shapes) < 30
    assert sum(trial.state == "reused" for trial in found.trials) == 30 - len(trained)
    for trial in found.trials:
        assert trial.value == pytest.approx(score(trial.ratio))


@pytest.mark.parametrize("space", ["raw", "both"])
def test_where_numbers_count_equal_proportions_are_trained_each(space):
    trained = []

    def count(ratio, seed, report):
        trained.append(tuple(ratio.values()))
        return -float(sum(ratio.values()))  # shares say nothing about it

    bounds = {"primary_bounds": (1, 4), "auxiliary_bounds": (0, 4)}
    found = search_ratio(count, ["rte", "mnli"], 20, space=space, **bounds)
    assert sorted(trained) == [(a, b) for a in range(1, 5) for b in range(5)]
    assert {trial.state for trial in found.trials} == {"done"}
    assert found.ratio == {"rte": 1, "mnli": 0}


def test_a_peak_in_the_numbers_is_found_by_who_sees_them():
    def peak(ratio, seed, report):
        return -((ratio["rte"] - 12) ** 2) / 400 - ((ratio["mnli"] - 4) ** 2 + (ratio["qqp"] - 4) ** 2) / 25

    def shortfalls(space):
        return [-search_ratio(peak, TASKS, 15, seed=seed, space=space).value for seed in range(3)]

    assert max(shortfalls("both")) < 0.05  # one step in one number costs 0.04
    assert sum(shortfalls("both")) < sum(shortfalls("shares"))


def test_other_samplers_may_be_used():
    mine = GPHedgeSampler(seed=7, initial=2)
    assert search_ratio(objective, TASKS, 4, sampler=mine).trials[-1].acquisition
    assert mine.space is None
    shares = search_ratio(objective, TASKS, 4, sampler=mine, simplex=True)
    assert sum(shares.ratio.values()) == pytest.approx(1.0)
    chance = optuna.samplers.RandomSampler(seed=0)
    with pytest.raises(RotaError, match="does not know that shares sum to one"):
        search_ratio(objective, TASKS, 4, sampler=chance, simplex=True)
    bounds = {"primary_bounds": (0, 1), "auxiliary_bounds": (0, 1)}
    found = search_ratio(objective, TASKS, 30, sampler=chance, **bounds)
    empty = [trial for trial in found.trials if not any(trial.ratio.values())]
    assert empty
    assert {trial.state for trial in empty} == {"pruned"}


def test_several_seeds_are_averaged():
    seeds = []

    def seeded(ratio, seed, report):
        seeds.append(seed)
        return float(seed)

    found = search_ratio(seeded, TASKS, 2, seed=5, seeds_per_point=3)
    assert seeds == [5, 6, 7] * 2
    assert found.trials[0].values == (5.0, 6.0, 7.0)
    assert found.value == 6.0


def test_hopeless_trainings_are_stopped_and_diverged_ones_are_no_end():
    lengths = []

    def training(ratio, seed, report):
        worth = 1.0 if len(lengths) < 6 else -1.0
        lengths.append(0)
        for step in (1, 2, 3):
            lengths[-1] = step
            report(step, worth * step)
        return math.nan if len(lengths) == 2 else worth

    found = search_ratio(training, TASKS, 9)
    assert [trial.state for trial in found.trials] == ["done", "pruned", *["done"] * 4, *["pruned"] * 3]
    assert lengths[-3:] == [1, 1, 1]
    assert [trial.steps for trial in found.trials] == lengths
    assert found.value == 1.0
    lengths.clear()
    assert search_ratio(training, TASKS, 9, pruning=False).trials[-1].state == "done"


def test_a_beginning_and_a_middling_score_are_not_hopeless():
    worths = [*range(1, 7), 0.0, 3.5]
    lengths = []

    def training(ratio, seed, report):
        worth = worths[len(lengths)]
        lengths.append(0)
        for step in range(1, 7):
            lengths[-1] = step
            report(step, worth if step > 1 else -worth)
        return worth

    found = search_ratio(training, TASKS, len(worths))
    assert [trial.state for trial in found.trials] == [*["done"] * 6, "pruned", "done"]
    assert lengths[-2:] == [2, 6]


def test_the_budget_may_be_in_training_steps():
    def training(ratio, seed, report):
        report(100, 0.5)
        return 0.5

    assert len(search_ratio(training, TASKS, 9, budget_steps=350).trials) == 4
    with pytest.raises(RotaError, match="has to call report"):
        search_ratio(objective, TASKS, 9, budget_steps=350)


def test_a_study_belongs_to_one_search(tmp_path):
    storage = f"sqlite:///{tmp_path}/study.db"
    search_ratio(objective, TASKS, 1, storage)
    with pytest.raises(RotaError, match=r"another search: seed 0 there, 1 here"):
        search_ratio(objective, TASKS, 1, storage, seed=1)
    assert search_ratio(objective, TASKS, 1, storage, seed=1, name="mine").name == "mine"


def test_a_study_from_before_there_was_a_choice_saw_shares(tmp_path):
    storage = f"sqlite:///{tmp_path}/study.db"
    search_ratio(objective, TASKS, 2, storage, space="shares", name="old")
    study = optuna.load_study(study_name="old", storage=storage)
    settings = study.user_attrs["rota"]
    del settings["space"]
    study.set_user_attr("rota", settings)
    assert len(search_ratio(objective, TASKS, 3, storage, space="shares", name="old").trials) == 3
    with pytest.raises(RotaError, match=r"another search: space shares there, both here"):
        search_ratio(objective, TASKS, 3, storage, name="old")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tasks": ["rte"]}, "two or more different tasks"),
        ({"tasks": ["rte", "rte"]}, "two or more different tasks"),
        ({"trials": 0}, "trials of 1 or more"),
        ({"primary_bounds": (5, 1)}, "low ≤ high for primary_bounds"),
        ({"auxiliary_bounds": (0.5, 2)}, "whole numbers"),
        ({"sampler": "gp_hedge"}, "Unknown sampler 'gp_hedge'. Did you mean 'gp-hedge'"),
        ({"space": "share"}, "Unknown space 'share'. Did you mean 'shares'"),
        ({"storage": "study.db"}, "A storage is a database URL"),
        ({"storage": "nonsense://secret@host"}, "driver that is not installed"),
    ],
)
def test_wrong_input_is_one_sentence(options, said):
    with pytest.raises(RotaError, match=said.replace("(", r"\(")):
        search_ratio(**{"objective": objective, "tasks": TASKS, "trials": 2, **options})


def run_python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_room_is_light_and_says_what_to_install():
    heavy = "{'torch', 'optuna', 'sklearn', 'sqlalchemy'}"
    assert run_python(f"import sys, rota.search; print({heavy} & set(sys.modules))") == "set()"
    code = """
import sys
sys.modules["optuna"] = None
import rota.search
for ask in (lambda: rota.search.GPHedgeSampler, lambda: rota.search.search_ratio(None, ["a", "b"], 1)):
    try:
        ask()
    except rota.RotaError as error:
        print(error)
"""
    lines = run_python(code).splitlines()
    assert len(lines) == 2
    assert all("pip install 'rota[search]'" in line for line in lines)


def test_wrong_names_are_attribute_errors():
    import rota.search

    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = rota.search.nonsense
