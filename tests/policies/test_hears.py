"""A policy says what it hears, wrappers say what their child hears, and every value keeps its word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rota.errors import RotaError
from rota.feedback import Feedback
from rota.policies import (
    Auto,
    AutoDev,
    Cycle,
    Exp3S,
    Fixed,
    Hold,
    Policy,
    Tempered,
    Thompson,
    Tracking,
    Union,
    WithEnds,
    WithFloor,
)

TASKS = ["a", "b"]


class Listener(Policy):
    """Writes down what it hears, about two things."""

    hears = ("loss", "score")

    def __init__(self, tasks=TASKS):
        super().__init__(tasks)
        self.heard = []

    def probabilities(self, step):
        return np.array([0.25, 0.75])

    def learn(self, k, feedback):
        self.heard.append(feedback)


class Undeclared(Policy):
    def probabilities(self, step):
        return np.array([0.5, 0.5])

    def learn(self, k, feedback):
        pass


class Declared(Undeclared):
    hears = ("joy",)


class Finer(Declared):
    """Learns in another way, from the same."""

    def learn(self, k, feedback):
        pass


HEARS = [
    (Fixed({"a": 1, "b": 1}), ()),
    (Tempered({"a": 1, "b": 2}), ()),
    (Union({"a": 1, "b": 2}), ()),
    (Cycle({"a": 1, "b": 2}), ()),
    (Auto(TASKS), ("loss",)),
    (AutoDev(TASKS), ("loss", "score")),
    (Exp3S(TASKS), ("gain",)),
    (Tracking(TASKS), ("uncertainty",)),
    (Thompson(TASKS), ("success",)),
    (Undeclared(TASKS), None),
    (Declared(TASKS), ("joy",)),
    (Finer(TASKS), ("joy",)),
]


@pytest.mark.parametrize(("policy", "words"), HEARS, ids=lambda value: type(value).__name__)
def test_a_policy_says_what_it_hears_and_so_do_its_wrappers(policy, words):
    assert policy.hears == words
    assert policy.round_length == 1
    if policy.mixable:
        assert WithFloor(policy, 0.1).hears == words
        assert WithEnds(policy, {"a": 3}).hears == words
    if policy.holdable:
        held = Hold(policy, 7)
        assert (held.hears, held.round_length) == (words, 7)


def test_a_wrapper_has_the_rounds_of_its_child():
    class Around(WithFloor):
        pass

    inner = Exp3S(TASKS)
    inner.round_length = 4
    assert Around(inner, 0.1).round_length == WithEnds(inner, {"a": 3}).round_length == 4


def test_what_a_policy_does_not_hear_is_refused_by_name():
    with pytest.raises(RotaError, match=r"Exp3S hears gain\. Found feedback about 'score'"):
        Exp3S(TASKS).observe(Feedback("a", 0.5, 0.5, about="score"))
    with pytest.raises(RotaError, match=r"Fixed hears nothing\. Found feedback about 'loss'"):
        Fixed({"a": 1, "b": 1}).observe(Feedback("a", 0.5, 0.5, about="loss"))
    Undeclared(TASKS).observe(Feedback("a", 0.5, 0.5, about="anything"))


@pytest.mark.parametrize("wrap", [lambda p: WithFloor(p, 0.5), lambda p: WithEnds(p, {"a": 9})])
def test_wrappers_keep_the_word(wrap):
    child = Listener()
    policy, rng = wrap(child), np.random.default_rng(0)
    choice = policy.choose(0, rng)
    policy.observe(choice.scored(0.3, about="loss"))
    policy.observe(Feedback("b", 0.7, about="score"))
    assert [(heard.value, heard.about) for heard in child.heard] == [(0.3, "loss"), (0.7, "score")]


def test_hold_takes_the_mean_of_each_word_by_itself():
    child = Listener()
    policy, rng = Hold(child, steps=3), np.random.default_rng(0)
    for step in range(6):
        choice = policy.choose(step, rng)
        policy.observe(choice.scored(float(step), about="loss"))
        policy.observe(choice.scored(10.0 * step, about="score"))
    told = [(heard.round, heard.value, heard.about, heard.step) for heard in child.heard]
    assert told == [(0, 1.0, "loss", 2), (0, 10.0, "score", 2), (1, 4.0, "loss", 5), (1, 40.0, "score", 5)]


def test_hold_hears_a_late_word_of_a_round_whose_other_word_was_passed_on():
    child = Listener()
    policy, rng = Hold(child, steps=2), np.random.default_rng(0)
    choices = [policy.choose(step, rng) for step in range(4)]
    policy.observe(choices[1].scored(1.0, about="loss"))
    policy.observe(choices[1].scored(2.0, about="score"))
    policy.observe(choices[0].scored(9.0, about="loss"))  # its round was passed on
    assert [(heard.value, heard.about) for heard in child.heard] == [(1.0, "loss"), (2.0, "score")]


def test_hold_keeps_a_round_of_which_a_word_is_still_to_come():
    child = Listener()
    policy, rng = Hold(child, steps=2), np.random.default_rng(0)
    choices = [policy.choose(step, rng) for step in range(4)]
    policy.observe(choices[1].scored(1.0, about="loss"))
    policy.observe(choices[0].scored(2.0, about="score"))  # half of it
    policy.observe(choices[3].scored(3.0, about="loss"))  # a later round is passed on
    policy.observe(choices[1].scored(4.0, about="score"))
    assert [(heard.value, heard.about) for heard in child.heard] == [(1.0, "loss"), (3.0, "loss"), (3.0, "score")]


def test_hold_forgets_rounds_that_were_passed_on():
    policy, rng = Hold(Listener(), steps=2), np.random.default_rng(0)
    for step in range(40):
        policy.observe(policy.choose(step, rng).scored(1.0, about="loss"))
    assert len(policy.open_rounds) == 1


def test_auto_dev_tells_losses_from_scores_by_their_word_where_nobody_chose():
    """In joint training losses have no probability either."""
    joint, single = AutoDev(TASKS, horizon=100), AutoDev(TASKS, horizon=100)
    for step in range(30):
        for task in TASKS:
            loss = Feedback(task, 1.0 / (step + 1), None, step, about="loss")
            joint.observe(loss)
            single.observe(replace(loss, probability=0.5))
    assert joint.state_dict() == single.state_dict()
    assert joint.losses.visits.tolist() == [30, 30]
    joint.observe(Feedback("a", 0.5, about="score"))
    assert joint.scores.visits.tolist() == [1, 0]


class Dice(Policy):
    """Draws numbers of its own when it learns."""

    hears, state = ("loss",), ("rng", "mixture")

    def __init__(self, tasks=TASKS):
        super().__init__(tasks)
        self.rng, self.mixture = np.random.default_rng(0), np.array([0.5, 0.5])

    def probabilities(self, step):
        return self.mixture

    def learn(self, k, feedback):
        share = self.rng.random()
        self.mixture = np.array([share, 1 - share])


def test_a_generator_of_its_own_goes_on_where_it_was():
    whole, first = Dice(), Dice()
    for _ in range(7):
        whole.observe(Feedback("a", 0.5))
    for _ in range(4):
        first.observe(Feedback("a", 0.5))
    again = Dice()
    again.load_state_dict(first.state_dict())
    for _ in range(3):
        again.observe(Feedback("a", 0.5))
    assert again.probabilities(0).tolist() == whole.probabilities(0).tolist()
