"""The rules that keep propensities true; each has a test."""

from __future__ import annotations

import numpy as np
import pytest
from policy_tools import Listener
from scipy import stats

from rota.errors import RotaError
from rota.feedback import Feedback
from rota.policies import Cycle, Exp3S, Fixed, Hold, Union, WithEnds, WithFloor, uniform


def test_hold_passes_one_value_per_round_with_the_probability_of_its_draw():
    child = Listener({"a": 0.25, "b": 0.75})
    policy, rng = Hold(child, steps=4), np.random.default_rng(0)
    choices = [policy.choose(step, rng) for step in range(12)]
    for choice in choices:
        policy.observe(choice.scored(float(choice.step)))
    assert [feedback.value for feedback in child.heard] == [1.5, 5.5, 9.5]  # the mean of each round
    assert [feedback.round for feedback in child.heard] == [0, 1, 2]
    for choice in choices:
        assert choice.round == choice.step // 4
        assert choice.probability == {"a": 0.25, "b": 0.75}[choice.task]
        assert choice.task == choices[4 * choice.round].task
    assert [feedback.probability for feedback in child.heard] == [choices[k].probability for k in (0, 4, 8)]


def test_hold_counts_its_draws_and_needs_rounds_of_a_step():
    assert Hold(uniform(["a", "b"]), steps=1).counts_draws
    with pytest.raises(RotaError, match="rounds of one step or more"):
        Hold(uniform(["a", "b"]), steps=0)


def test_hold_takes_a_single_value_at_the_end_of_a_round():
    child = Listener({"a": 0.5, "b": 0.5})
    policy, rng = Hold(child, steps=3), np.random.default_rng(0)
    for step in range(6):
        choice = policy.choose(step, rng)
        if step % 3 == 2:
            policy.observe(choice.scored(1.0))
    assert [feedback.value for feedback in child.heard] == [1.0, 1.0]


def test_hold_counts_draws_not_feedback_and_hears_late_values_in_their_own_round():
    child = Listener({"a": 0.25, "b": 0.75})
    policy, rng = Hold(child, steps=2), np.random.default_rng(3)
    choices = [policy.choose(step, rng) for step in range(10)]  # nothing came back yet
    assert [choice.round for choice in choices] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    for k in (9, 3, 5, 1):  # last steps of rounds 4, 1, 2, 0, out of order
        policy.observe(choices[k].scored(float(k)))
    assert [(f.round, f.value, f.probability) for f in child.heard] == [
        (choices[k].round, float(k), choices[k].probability) for k in (9, 3, 5, 1)
    ]
    policy.observe(choices[0].scored(100.0))  # its round was heard already
    assert len(child.heard) == 4


def test_hold_passes_a_survey_on_as_it_is():
    child = Listener({"a": 0.5, "b": 0.5})
    policy = Hold(child, steps=3)
    policy.observe(Feedback("b", 0.7))
    assert child.heard == [Feedback("b", 0.7, None)]


def test_hold_passes_a_round_on_whose_last_value_never_came():
    child = Listener({"a": 0.5, "b": 0.5})
    policy, rng = Hold(child, steps=3), np.random.default_rng(0)
    choices = [policy.choose(step, rng) for step in range(9)]
    for k in (0, 1, 3, 4, 5):  # the loss of step 2 was not a number
        policy.observe(choices[k].scored(float(k)))
    assert [(f.round, f.value, f.task) for f in child.heard] == [(0, 0.5, choices[0].task), (1, 4.0, choices[3].task)]


@pytest.mark.parametrize("policy", [Cycle({"a": 1, "b": 1}), Hold(uniform(["a", "b"]), 2)], ids=repr)
def test_hold_refuses_policies_with_rounds_of_their_own(policy):
    with pytest.raises(RotaError, match=f"Found {type(policy).__name__}"):
        Hold(policy, 2)


def test_hold_forgets_rounds_that_nobody_answers():
    policy, rng = Hold(uniform(["a", "b"]), steps=1), np.random.default_rng(0)
    for step in range(5 * Hold.REMEMBERED):
        policy.choose(step, rng)
    assert len(policy.open_rounds) <= Hold.REMEMBERED


def test_a_floor_hands_its_child_the_childs_own_probability():
    child = Listener({"a": 0.2, "b": 0.8})
    policy, rng = WithFloor(child, epsilon=0.5), np.random.default_rng(0)
    for step in range(20):
        policy.observe(policy.choose(step, rng).scored(0.0))
    for feedback in child.heard:
        assert feedback.probability == pytest.approx({"a": 0.2, "b": 0.8}[feedback.task])


def test_a_floor_of_nothing_changes_nothing():
    policy = WithFloor(Fixed({"a": 1, "b": 3}), epsilon=0)
    assert policy.probabilities(0).tolist() == [0.25, 0.75]


def test_a_floor_never_hands_on_a_probability_of_zero():
    child = Listener({"a": 0.0, "b": 1.0})
    policy = WithFloor(child, epsilon=0.5)
    policy.observe(Feedback("a", 1.0, 0.25))  # all of it is the floor's
    policy.observe(Feedback("a", 1.0, 0.2))
    policy.observe(Feedback("b", 1.0, 0.9))
    assert [feedback.probability for feedback in child.heard] == [1e-12, 1e-12, 1.0]


class Counting(Listener):
    """Remembers its draws."""

    drawn = ()

    def on_draw(self, k, step):
        self.drawn = (*self.drawn, (k, step))


@pytest.mark.parametrize("wrap", [lambda p: WithFloor(p, 0.5), lambda p: WithEnds(p, {"a": 9})])
def test_a_policy_inside_another_knows_what_was_drawn(wrap):
    policy, rng = wrap(Counting({"a": 0.4, "b": 0.6})), np.random.default_rng(0)
    drawn = [(policy.tasks.index(policy.choose(step, rng).task), step) for step in range(8)]
    assert policy.policy.drawn == tuple(drawn)
    assert policy.counts_draws


@pytest.mark.parametrize(
    ("policy", "after", "sentence"),
    [
        (uniform(["a", "b"]), {"a": 0}, "one turn or more before task 'a' stops. Found 0"),
        (uniform(["a", "b"]), {"c": 3}, "Unknown task 'c'"),
        (uniform(["a", "b"]), {"a": 1, "b": 1}, "an end for every task"),
        (Union({"a": 1, "b": 2}), {"a": 1}, "Found Union"),
    ],
)
def test_ends_that_make_no_sense_are_refused(policy, after, sentence):
    with pytest.raises(RotaError, match=sentence):
        WithEnds(policy, after)


def test_where_nobody_who_goes_on_has_a_share_all_of_them_are_drawn_alike():
    policy, rng = WithEnds(Fixed({"a": 1, "b": 0, "c": 0}), {"a": 2}), np.random.default_rng(0)
    assert [policy.choose(step, rng).task for step in range(2)] == ["a", "a"]
    assert policy.probabilities(2).tolist() == [0.0, 0.5, 0.5]


def test_exp3s_under_a_floor_learns_like_exp3s_with_its_own_rho():
    plain, floored = Exp3S(["a", "b", "c"], eta=0.1), WithFloor(Exp3S(["a", "b", "c"], eta=0.1), 0.4)
    rng = np.random.default_rng(0)
    for step in range(200):
        choice = floored.choose(step, rng)
        own = plain.probabilities(step)[plain.tasks.index(choice.task)]
        value = {"a": 0.1, "b": 0.5, "c": 0.3}[choice.task] + 0.01 * (step % 7)
        floored.observe(choice.scored(value))
        plain.observe(Feedback(choice.task, value, float(own), step))
    np.testing.assert_allclose(floored.policy.probabilities(0), plain.probabilities(0), rtol=1e-6)


@pytest.mark.parametrize(
    "policy", [Union({"a": 1, "b": 2}), Cycle({"a": 1, "b": 2}), Hold(uniform(["a", "b"]), 2)], ids=lambda p: repr(p)
)
def test_a_floor_around_a_schedule_is_refused(policy):
    with pytest.raises(RotaError, match=f"Found {type(policy).__name__}"):
        WithFloor(policy, 0.1)


def test_a_policys_own_randomness_is_its_own():
    """Scaling draws from the reservoir's generator; the choices' generator sees one number per choice."""
    policy, rng = Exp3S(["a", "b"], reservoir=10, seed=1), np.random.default_rng(5)
    for step in range(100):
        policy.observe(policy.choose(step, rng).scored(float(step % 13)))
    twin = np.random.default_rng(5)
    twin.random(100)
    assert rng.random() == twin.random()
    assert policy.state_dict()["memory"]["scaling"]["rng"]["state"]


def test_union_takes_every_batch_once_per_epoch():
    batches = {"a": 3, "b": 1, "c": 7}
    policy, rng = Union(batches), np.random.default_rng(0)
    for epoch in range(50):
        drawn = [policy.choose(11 * epoch + k, rng).task for k in range(11)]
        assert {task: drawn.count(task) for task in batches} == batches


def test_union_logs_the_true_conditional_probabilities():
    """Over many epochs: whenever a task was said to have probability p, it came with frequency p; and all
    orders of an epoch are equally likely."""
    policy, rng = Union({"a": 2, "b": 1, "c": 1}), np.random.default_rng(1)
    epochs = 12_000
    said: dict[tuple[str, float], list[int]] = {}
    orders: dict[str, int] = {}
    for epoch in range(epochs):
        order = ""
        for k in range(4):
            p = dict(zip(policy.tasks, policy.probabilities(4 * epoch + k).tolist(), strict=True))
            choice = policy.choose(4 * epoch + k, rng)
            assert choice.probability == p[choice.task]
            for task in p:
                said.setdefault((task, round(p[task], 6)), []).append(int(choice.task == task))
            order += choice.task
        orders[order] = orders.get(order, 0) + 1
    for (_, p), hits in said.items():
        if 0 < p < 1:
            z = (np.mean(hits) - p) / np.sqrt(p * (1 - p) / len(hits))
            assert abs(z) < 4.5
        else:
            assert np.mean(hits) == p
    assert len(orders) == 12  # 4! / 2!
    assert stats.chisquare(list(orders.values())).pvalue > 1e-3


def test_cycle_contains_exactly_its_ratio():
    policy, rng = Cycle({"a": 1, "b": 5}), np.random.default_rng(0)
    drawn = [policy.choose(step, rng).task for step in range(60)]
    for cycle in range(10):
        assert drawn[6 * cycle : 6 * cycle + 6] == ["a", "b", "b", "b", "b", "b"]


@pytest.mark.parametrize("total", [0.5, 3.0])
def test_choices_follow_the_shares_of_probabilities_that_do_not_add_up(total):
    """Rounding makes a sum beside 1; here it is far beside it."""
    policy, rng = Listener({"a": 0.25 * total, "b": 0.75 * total}), np.random.default_rng(0)
    drawn = [policy.choose(step, rng).task for step in range(4000)]
    assert drawn.count("a") == pytest.approx(1000, abs=120)


def test_choices_follow_the_probabilities():
    policy, rng = Fixed({"a": 1, "b": 0, "c": 2, "d": 5}), np.random.default_rng(2)
    drawn = [policy.choose(step, rng).task for step in range(40_000)]
    assert "b" not in drawn
    counts = [drawn.count(task) for task in "acd"]
    assert stats.chisquare(counts, np.array([1, 2, 5]) / 8 * 40_000).pvalue > 1e-3


def test_state_is_refused_by_another_policy_and_another_set_of_tasks():
    state = uniform(["a", "b"]).state_dict()
    with pytest.raises(RotaError, match="expects the state of Exp3S"):
        Exp3S(["a", "b"]).load_state_dict(state)
    with pytest.raises(RotaError, match="over a, c"):
        uniform(["a", "c"]).load_state_dict(state)


def test_a_memory_with_another_part_is_refused():
    state = Exp3S(["a", "b"]).state_dict()
    del state["memory"]["updates"]
    with pytest.raises(RotaError, match=r"Missing or unknown: .*updates"):
        Exp3S(["a", "b"]).load_state_dict(state)


def test_state_follows_the_names_of_the_tasks_not_their_order():
    one = Exp3S(["a", "b"], eta=0.5)
    for step in range(5):
        one.observe(Feedback("a", float(step), 0.5, step))
    other = Exp3S(["b", "a"], eta=0.5)
    other.load_state_dict(one.state_dict())
    np.testing.assert_allclose(other.probabilities(0), one.probabilities(0)[::-1])
