"""Golden numbers, computed by hand, for every policy; and the mathematics they follow."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rota.errors import RotaError
from rota.feedback import Feedback
from rota.policies import Cycle, Exp3S, Fixed, Tempered, Union, WithFloor, proportional, uniform
from rota.policies._exp3s import shared
from rota.policies._reservoir import Reservoir
from rota.schedules import annealed_power, linear

SIZES = {"rte": 100, "mrpc": 400, "sst2": 1600}

GOLDEN = [
    (uniform(list(SIZES)), 0, [1 / 3, 1 / 3, 1 / 3]),
    (proportional(SIZES), 7, [1 / 21, 4 / 21, 16 / 21]),
    (Fixed({"rte": 0, "mrpc": 1, "sst2": 3}), 0, [0, 0.25, 0.75]),
    (Tempered(SIZES, 0.5), 0, [1 / 7, 2 / 7, 4 / 7]),
    (Tempered(SIZES), 0, [1 / 7, 2 / 7, 4 / 7]),
    (Tempered(SIZES, 0.0), 0, [1 / 3, 1 / 3, 1 / 3]),
    (Tempered(SIZES, annealed_power(epochs=5, steps_per_epoch=10)), 0, [1 / 21, 4 / 21, 16 / 21]),
    (Tempered(SIZES, linear(1.0, 0.0, steps=10)), 5, [1 / 7, 2 / 7, 4 / 7]),
    (Union({"rte": 1, "mrpc": 2, "sst2": 5}), 0, [1 / 8, 2 / 8, 5 / 8]),
    (Cycle({"rte": 1, "mrpc": 2, "sst2": 1}), 3, [0, 0, 1]),
    (Cycle({"rte": 1, "mrpc": 0, "sst2": 1}), 2, [1, 0, 0]),
    (Exp3S(list(SIZES)), 0, [1 / 3, 1 / 3, 1 / 3]),
    (WithFloor(Fixed({"rte": 0, "mrpc": 1, "sst2": 3}), 0.3), 0, [0.1, 0.275, 0.625]),
]


@pytest.mark.parametrize(("policy", "step", "expected"), GOLDEN, ids=lambda value: repr(value)[:24])
def test_probabilities(policy, step, expected):
    np.testing.assert_allclose(policy.probabilities(step), expected, atol=1e-12)


def test_annealed_power_in_the_middle_is_the_middle_power():
    weights = np.array(list(SIZES.values())) ** 0.6  # e = 2 of E = 3: 1 - 0.8/2
    policy = Tempered(SIZES, annealed_power(epochs=3, steps_per_epoch=10))
    np.testing.assert_allclose(policy.probabilities(15), weights / weights.sum(), rtol=1e-12)


def test_two_exp3s_updates_by_hand():
    """N = 3, η = 0.6, ε = 0.3. First value: scaled to 0, so nothing but sharing among equals. Second: +1."""
    policy = Exp3S(["a", "b", "c"], eta=0.6, epsilon=0.3)
    policy.observe(Feedback("b", 0.5, probability=1 / 3, step=0))
    np.testing.assert_allclose(policy.probabilities(1), 1 / 3, atol=1e-15)
    policy.observe(Feedback("b", 0.9, probability=1 / 3, step=1))
    # r = 1, ρ = (1/3 - 0.1) / 0.7 = 1/3, so x_b = 0.6 · 3 = 1.8; second update: α = 1/3.
    gained = math.exp(1.8)
    b, other = 2 / 3 * gained + 1 / 6 * 2, 2 / 3 * 1 + 1 / 6 * (1 + gained)
    rho = np.array([other, b, other]) / (b + 2 * other)
    np.testing.assert_allclose(policy.probabilities(2), 0.7 * rho + 0.1, rtol=1e-12)


def test_exp3s_recovers_rho_from_pi_and_can_use_pi_instead():
    by_rho = Exp3S(["a", "b"], eta=0.1, epsilon=0.2, alpha=0.0)
    by_pi = Exp3S(["a", "b"], eta=0.1, epsilon=0.2, alpha=0.0, importance="pi")
    for policy in (by_rho, by_pi):
        policy.observe(Feedback("a", 0.0, 0.26, 0))
        policy.observe(Feedback("a", 1.0, 0.26, 1))
    assert np.isclose(by_rho.log_weights[0] - by_rho.log_weights[1], 0.1 / 0.2)  # ρ = (0.26 - 0.1) / 0.8
    assert np.isclose(by_pi.log_weights[0] - by_pi.log_weights[1], 0.1 / 0.26)


def test_exp3s_as_it_is_made_by_default():
    """η = 0.001, ε = 0.05, ρ = 1/2; the second value is scaled to 1, and α = 1/3."""
    policy = Exp3S(["a", "b"])
    policy.observe(Feedback("a", 0.0, 0.5, 0))
    policy.observe(Feedback("a", 1.0, 0.5, 1))
    a, b = 2 / 3 * math.exp(0.002) + 1 / 3, 2 / 3 + math.exp(0.002) / 3
    np.testing.assert_allclose(policy.probabilities(2), [0.95 * a / (a + b) + 0.025, 0.95 * b / (a + b) + 0.025])
    assert policy.log_weights.max() == 0.0  # so that exponentials never overflow
    assert policy.scaling.size == 1000


def test_a_probability_below_the_floor_counts_as_a_tiny_one():
    policy = Exp3S(["a", "b"], eta=1e-13, epsilon=0.2, alpha=0.0, importance="rho")
    policy.observe(Feedback("a", 0.0, 0.5, 0))
    policy.observe(Feedback("a", 1.0, 0.05, 1))  # whoever reports it had rounded
    assert policy.log_weights[0] - policy.log_weights[1] == pytest.approx(1e-13 / 1e-12)


def test_first_exp3s_update_does_not_invert_the_preference():
    """α = 1 at the first update would hand the whole weight to the others."""
    policy = Exp3S(["a", "b", "c"], eta=1.0)
    policy.observe(Feedback("a", 1.0, 1 / 3, 0))
    policy.observe(Feedback("a", 2.0, 1 / 3, 1))
    assert policy.probabilities(2).argmax() == 0


def step_of(rho, importance, tasks=8):
    """How far π of a task moves when it is drawn at ρ and its reward is as large as it can be."""
    policy = Exp3S([str(k) for k in range(tasks)], importance=importance, alpha=0.0)
    policy.observe(Feedback("0", 0.0, probability=None, step=0))  # scaled to 0; a larger one is scaled to 1
    policy.log_weights = np.log([rho, *[(1 - rho) / (tasks - 1)] * (tasks - 1)])
    before = policy.probabilities(1)[0]
    policy.observe(Feedback("0", 1.0, probability=before, step=1))
    return policy.probabilities(2)[0] - before


def test_the_printed_importance_jumps_where_the_docstring_says_and_the_others_do_not():
    """At ρ the log-odds rise by η / ρ, and π by 0.95 as much as the share that they come to."""
    for rho in (1e-5, 1e-4, 1.7e-4, 1e-3, 0.1, 0.5):
        risen = 0.95 * (1 / (1 + (1 / rho - 1) * math.exp(-0.001 / rho)) - rho)
        assert step_of(rho, "rho") == pytest.approx(risen, abs=1e-9)
    assert step_of(1.8e-4, "rho") < 0.05 < step_of(1.7e-4, "rho")
    assert step_of(1.0e-4, "rho") > 0.5
    bound = 0.95 * math.tanh(0.001 * 8 / (4 * 0.05))
    for rho in np.geomspace(1e-12, 0.999, 200):
        assert step_of(rho, "rho-floored") <= step_of(rho, "pi") + 1e-3
        assert max(step_of(rho, "rho-floored"), step_of(rho, "pi")) < bound < 0.04
    assert step_of(0.01, "rho-floored") == step_of(0.01, "rho")  # above ε / N = 0.00625 they are one


def largest_step(importance, updates, seed=0):
    """Over so many updates of a bandit whose arms take turns at being the best one."""
    policy, rng, largest = Exp3S(list("abcdefgh"), importance=importance), np.random.default_rng(seed), 0.0
    before = policy.probabilities(0)
    for step in range(updates):
        choice = policy.choose(step, rng)
        best = step // 40_000 % 2
        policy.observe(choice.scored(float(policy.tasks.index(choice.task) == best) + 0.1 * rng.normal()))
        after = policy.probabilities(step)
        largest = max(largest, float(np.abs(after - before).max()))
        before = after
    return largest


@pytest.mark.slow
def test_a_million_updates_as_printed_jump_and_floored_ones_do_not():
    assert largest_step("rho-floored", 1_000_000) < 0.05
    assert largest_step("pi", 1_000_000) < 0.05
    assert largest_step("rho", 60_000) < 0.05
    assert largest_step("rho", 200_000) > 0.9  # as the docstring says


def test_a_survey_enters_exp3s_with_weight_one():
    policy = Exp3S(["a", "b"], eta=0.1, alpha=0.0)
    policy.observe(Feedback("a", 0.0))
    policy.observe(Feedback("a", 1.0))
    assert np.isclose(policy.log_weights[0] - policy.log_weights[1], 0.1)


weights = st.lists(st.floats(-700, 700), min_size=2, max_size=8).map(np.array)


@given(x=weights, alpha=st.floats(0.0, 0.99))
def test_sharing_conserves_the_mass(x, alpha):
    before, after = np.logaddexp.reduce(x), np.logaddexp.reduce(shared(x, alpha))
    assert math.isclose(before, after, rel_tol=1e-9, abs_tol=1e-9)


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=60))
def test_every_task_keeps_its_floor_whatever_comes_back(values):
    policy, rng = Exp3S(["a", "b", "c"], eta=0.5, epsilon=0.06), np.random.default_rng(0)
    for step, value in enumerate(values):
        policy.observe(policy.choose(step, rng).scored(value))
    p = policy.probabilities(len(values))
    assert np.isfinite(p).all()
    assert (p >= 0.02 - 1e-12).all()


def test_zero_rewards_leave_exp3s_uniform():
    policy, rng = Exp3S(["a", "b", "c"]), np.random.default_rng(0)
    for step in range(500):
        policy.observe(policy.choose(step, rng).scored(0.0))
    np.testing.assert_allclose(policy.probabilities(500), 1 / 3, atol=1e-12)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50))
def test_scaled_rewards_are_monotone_and_bounded(values):
    reservoir = Reservoir()
    for value in values:
        assert -1 <= reservoir.scale(value) <= 1
    low, high = np.quantile(values, [0.2, 0.8])
    assert math.isclose(reservoir._quantile(0.2), low, rel_tol=1e-9, abs_tol=1e-9)
    assert math.isclose(reservoir._quantile(0.8), high, rel_tol=1e-9, abs_tol=1e-9)


def test_a_reservoir_of_two_has_room_for_two():
    reservoir = Reservoir(size=2)
    assert [reservoir.scale(reward) for reward in (1.0, 2.0)] == [0.0, 1.0]
    assert Reservoir().size == 1000
    with pytest.raises(RotaError, match="room for two rewards or more"):
        Reservoir(size=1)


def test_sizes_of_any_magnitude_have_powers():
    assert Tempered({"a": 1.0, "b": 1e200}, power=4).probabilities(0).tolist() == [0.0, 1.0]
    np.testing.assert_allclose(Tempered({"a": 1e-200, "b": 2e-200}, power=3).probabilities(0), [1 / 9, 8 / 9])


@pytest.mark.parametrize("reward", [1 / 3, 0.0123, 1e-5, -7.7])
def test_equal_rewards_scale_to_zero(reward):
    reservoir = Reservoir()
    assert {reservoir.scale(reward) for _ in range(1500)} == {0.0}


def test_a_full_reservoir_holds_each_value_with_equal_probability():
    kept = np.zeros(40)
    for seed in range(2000):
        reservoir = Reservoir(size=10, seed=seed)
        for value in range(40):
            reservoir.scale(float(value))
        kept[np.array(reservoir.state_dict()["sorted"], dtype=int)] += 1
    assert kept.sum() == 2000 * 10
    assert stats.chisquare(kept).pvalue > 1e-3


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Fixed({"a": 1, "b": -1}), "Found b=-1"),
        (lambda: Fixed({"a": 0, "b": 0}), "all zero"),
        (lambda: Fixed({"a": math.nan}), "Found a=nan"),
        (lambda: uniform([]), "at least one task"),
        (lambda: uniform("rte"), "list of at least one task"),
        (lambda: uniform(["a", "a"]), "Found twice: a"),
        (lambda: Tempered({"a": 0, "b": 1}), "size zero: a"),
        (lambda: Union({"a": 0}), "Found a=0"),
        (lambda: Union({"a": math.nan}), "Found a=nan"),
        (lambda: Union({"a": math.inf}), "Found a=inf"),
        (lambda: Fixed({"a": 1e308, "b": 1e308}), "whose sum is a number"),
        (lambda: Cycle({"a": 1.5}), "whole numbers"),
        (lambda: Cycle({"a": 0, "b": 0}), "all zero"),
        (lambda: Exp3S(["a"], eta=0), "eta above 0"),
        (lambda: Exp3S(["a"], epsilon=1), r"epsilon in \[0, 1\)"),
        (lambda: Exp3S(["a"], epsilon=-0.1), r"epsilon in \[0, 1\)"),
        (lambda: Exp3S(["a"], alpha=1), r"alpha in \[0, 1\)"),
        (lambda: Exp3S(["a"], alpha=-0.1), r"alpha in \[0, 1\)"),
        (lambda: Exp3S(["a"], importance="sigma"), "Unknown importance 'sigma'"),
        (lambda: WithFloor(uniform(["a"]), 1.0), r"epsilon in \[0, 1\)"),
        (lambda: WithFloor(uniform(["a"]), -0.1), r"epsilon in \[0, 1\)"),
        (lambda: uniform(["a"]).choose(0, None), "a step and a generator"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(make, sentence):
    with pytest.raises(RotaError, match=sentence):
        make()


@pytest.mark.parametrize("make", [Fixed, proportional, Tempered, Cycle])
def test_names_without_numbers_are_refused(make):
    with pytest.raises(RotaError, match=r"by task, such as \{'rte': 2500, 'sst2': 7500\}\. Found \['a', 'b'\]"):
        make(["a", "b"])
