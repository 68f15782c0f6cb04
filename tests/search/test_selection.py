"""Which tasks for the next run: what a bandit believes, and the rule that chooses."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import beta

from rota.errors import RotaError
from rota.policies import Thompson, WithFloor
from rota.runlog import LOG, RUN, SCHEMA, Run
from rota.search import Beliefs, choose_tasks

UTILITIES = {"p": 0.4, "a": 0.7, "b": 0.2, "c": 0.55, "d": 0.51}


@pytest.mark.parametrize(
    ("rule", "chosen"),
    [
        ({}, ["p", "a", "c", "d"]),
        ({"above": 0.52}, ["p", "a", "c"]),
        ({"above": 1.0}, ["p", "a", "c"]),
        ({"top": 0, "above": 0.6}, ["p", "a"]),
        ({"top": 0, "above": 0.9}, ["p"]),
        ({"top": 9}, ["p", "a", "c", "d", "b"]),
    ],
)
def test_the_best_few_and_all_above_a_threshold_are_chosen(rule, chosen):
    assert choose_tasks(UTILITIES, "p", **rule) == chosen


def test_a_primary_that_is_unknown_is_refused():
    with pytest.raises(RotaError, match="Unknown primary task 'q'"):
        choose_tasks(UTILITIES, "q")


def write_run(folder, arms, method="thompson", **options):
    folder.mkdir()
    plan = {"method": method, "target": "p", "options": options}
    tasks = {name: {"rows": {"train": 9}} for name in ("p", "a", "b")} | {"only dev": {"rows": {"dev": 9}}}
    (folder / RUN).write_text(json.dumps({"schema": SCHEMA, "id": "x", "plan": plan, "tasks": tasks}))
    lines = [{"kind": "arm", "step": 10 * k, "task": task, "value": value} for k, (task, value) in enumerate(arms, 1)]
    (folder / LOG).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Run(folder)


def test_beliefs_are_those_of_the_bandit_computed_by_hand(tmp_path):
    arms = [("p", 1.0), ("a", 0.0), ("a", 1.0), ("p", 1.0)]
    found = Beliefs.of(write_run(tmp_path / "r", arms, decay=0.0))
    assert found.tasks == ("p", "a", "b")
    assert found.successes == {"p": 4.0, "a": 2.0, "b": 1.0}
    assert found.failures == {"p": 1.0, "a": 2.0, "b": 1.0}
    assert found.history == pytest.approx(
        np.array([[3 / 4, 1 / 2, 1 / 2], [3 / 4, 1 / 3, 1 / 2], [3 / 4, 1 / 2, 1 / 2], [4 / 5, 1 / 2, 1 / 2]])
    )
    assert found.last == pytest.approx({"p": 0.8, "a": 0.5, "b": 0.5})
    assert found.averaged == pytest.approx({"p": (0.75 + 0.8) / 2, "a": 0.5, "b": 0.5})
    assert (found.turns("a"), found.good("a"), found.turns("b")) == (2, 1.0, 0)
    assert found.interval("p") == pytest.approx(beta(4, 1).interval(0.8), abs=1e-4)


def test_options_of_the_run_count(tmp_path):
    arms = [("p", 1.0), ("a", 1.0)]
    found = Beliefs.of(write_run(tmp_path / "r", arms, decay=1.0, prior=[3, 1], round=5, floor=0.5))
    assert found.successes == pytest.approx({"p": 3.0, "a": 4.0, "b": 3.0})
    assert found.failures == pytest.approx({"p": 1.0, "a": 1.0, "b": 1.0})


@pytest.mark.parametrize(("method", "arms"), [("uniform", [("p", 1.0)]), ("thompson", [])])
def test_a_run_without_rounds_is_refused(tmp_path, method, arms):
    with pytest.raises(RotaError, match="Expected a run of method thompson"):
        Beliefs.of(write_run(tmp_path / "r", arms, method))


def test_in_200_rounds_the_right_tasks_are_chosen_in_90_of_100_repeats():
    """The primary does good in 80 % of its rounds, two auxiliaries in 70 %, five in 20 %."""
    good = dict(zip("pabcdefg", [0.8, 0.7, 0.7, *[0.2] * 5], strict=True))
    right = 0
    for repeat in range(100):
        rng = np.random.default_rng(repeat)
        bandit = Thompson(list(good), primary="p")
        policy = WithFloor(bandit, 0.5)
        history = []
        for number in range(200):
            choice = policy.choose(number, rng)
            policy.observe(choice.scored(float(rng.random() < good[choice.task])))
            history.append(list(bandit.utilities.values()))
        utilities = dict(zip(good, np.mean(history[100:], axis=0).tolist(), strict=True))
        right += set(choose_tasks(utilities, "p")) == set("pab")
    assert right >= 90
