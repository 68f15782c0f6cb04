"""Sources that come and go: what is kept, what newcomers begin with, and that draws follow the probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rota.errors import RotaError
from rota.feedback import Feedback
from rota.policies import Auto, Cycle, Exp3S, Hold, Thompson, Tracking, Union, WithEnds, WithFloor, uniform

BEFORE, AFTER = ["a", "b", "c"], ["d", "c", "b"]
MAKERS = {
    "Auto": lambda tasks: Auto(tasks, horizon=400, every=20),
    "Exp3S": lambda tasks: Exp3S(tasks, eta=0.05),
    "Thompson": lambda tasks: Thompson(tasks, decay=0.01),
    "Tracking": Tracking,
    "WithFloor": lambda tasks: WithFloor(Exp3S(tasks, eta=0.05), 0.1),
    "Union": lambda tasks: Union({task: 10 + ord(task) for task in tasks}),
}
KEEPS_RATIOS = ["Auto", "Exp3S", "Tracking"]


def heard(policy, steps=100):
    rng = np.random.default_rng(0)
    for step in range(steps):
        choice = policy.choose(step, rng)
        policy.observe(choice.scored({"a": 0.9, "b": 0.3, "c": 0.6}[choice.task] / (1 + step / 50)))
    return policy


def taken_over(make, tasks=AFTER):
    old, new = heard(make(BEFORE)), make(tasks)
    new.take_over(old)
    return old.shares(100), new


@pytest.mark.parametrize("name", MAKERS)
def test_draws_follow_the_probabilities_of_the_new_set(name):
    _, new = taken_over(MAKERS[name])
    rng, expected = np.random.default_rng(5), new.probabilities(100)
    state = new.state_dict()
    counts = dict.fromkeys(AFTER, 0)
    for _ in range(4000):
        choice = new.choose(100, rng)
        assert choice.probability == expected[AFTER.index(choice.task)]
        counts[choice.task] += 1
        new.load_state_dict(state)  # who counts its draws, too
    assert stats.chisquare(list(counts.values()), 4000 * expected).pvalue > 1e-4


@pytest.mark.parametrize("name", KEEPS_RATIOS)
def test_those_that_stay_keep_their_ratio(name):
    old, new = taken_over(MAKERS[name])
    shares = new.shares(100)
    if name == "Exp3S":  # of the weights: the even share of each is another one now
        old, shares = ({k: v - 0.05 / 3 for k, v in own.items()} for own in (old, shares))
    assert shares["c"] / shares["b"] == pytest.approx(old["c"] / old["b"])


def test_newcomers_begin_with_the_mean_or_with_their_prior():
    _, bandit = taken_over(MAKERS["Exp3S"])
    weights = np.exp(bandit.log_weights)
    assert weights[0] == pytest.approx(weights[1:].mean())
    _, planner = taken_over(MAKERS["Auto"])
    assert planner.shares(100)["d"] == pytest.approx(1 / 3)
    _, beliefs = taken_over(MAKERS["Thompson"])
    assert beliefs.utilities["d"] == 0.5
    tracking = Tracking(AFTER)
    old = Tracking(BEFORE, gamma=0.5)
    for task, value in {"a": 0.9, "b": 0.2, "c": 0.4}.items():
        old.observe(Feedback(task, value))
    tracking.take_over(old)
    assert tracking.shares(0) == pytest.approx({"d": 1 / 3, "c": 4 / 9, "b": 2 / 9})
    tracking.observe(Feedback("d", 0.6))  # its first measurement replaces the guess
    assert tracking.shares(0) == pytest.approx({"d": 0.5, "c": 1 / 3, "b": 1 / 6})


def test_a_round_of_a_task_that_leaves_is_over():
    rng = np.random.default_rng(0)
    old = Hold(uniform(["a", "b"]), steps=5)
    held = old.choose(0, rng).task
    other = "b" if held == "a" else "a"
    gone, stays = Hold(uniform([other, "c"]), steps=5), Hold(uniform([held, "c"]), steps=5)
    gone.take_over(old)
    stays.take_over(old)
    assert gone.probabilities(1) == pytest.approx([0.5, 0.5])
    assert gone.choose(1, rng).round == 1
    assert stays.shares(1)[held] == 1.0
    assert stays.choose(1, rng).probability == 0.5


def test_turns_that_are_left_stay_left_and_the_epoch_goes_on():
    old = WithEnds(uniform(["a", "b"]), {"a": 2})
    rng = np.random.default_rng(0)
    while old.left["a"]:
        old.choose(0, rng)
    new = WithEnds(uniform(["a", "b", "c"]), {"a": 2, "c": 1})
    new.take_over(old)
    assert new.shares(0) == {"a": 0.0, "b": 0.5, "c": 0.5}
    epoch = Union({"a": 2, "b": 2})
    epoch.choose(0, np.random.default_rng(0))
    longer = Union({"a": 2, "b": 2, "c": 3})
    longer.take_over(epoch)
    assert longer.remaining.sum() == 6


def test_what_cannot_be_taken_over_is_refused():
    with pytest.raises(RotaError, match="expects to take over from Exp3S"):
        Exp3S(["a"]).take_over(uniform(["a"]))
    with pytest.raises(RotaError, match="at least one task that stays"):
        Cycle({"a": 1}).take_over(Cycle({"b": 1}))
