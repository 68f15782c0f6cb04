"""Priors: a bandit that begins with one, and a policy that is kept near one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_tools import Listener
from scipy import optimize

from rota.errors import RotaError
from rota.feedback import Feedback
from rota.methods import METHODS, RunContext
from rota.policies import Anchored, Cycle, DynamixSFT, Exp3S, Fixed, Hold, Union, WithFloor, uniform
from rota.policies._exp3s import shared

CONTEXT = RunContext({"a": 100, "b": 900}, {"a": 4, "b": 29}, steps=100, seed=0)


def divergence(p, q):
    return float(sum(x * math.log(x / y) for x, y in zip(p, q, strict=True) if x > 0))


def test_an_anchored_mixture_by_hand():
    """√(1·9) : √(4·4) : √(9·1) = 3 : 4 : 3."""
    policy = Anchored(Fixed({"a": 1, "b": 4, "c": 9}), {"c": 1, "b": 4, "a": 9}, weight=0.5)
    np.testing.assert_allclose(policy.probabilities(0), [0.3, 0.4, 0.3])


shares = st.lists(st.floats(0.01, 1), min_size=3, max_size=3).map(lambda x: np.array(x) / sum(x))


@given(wanted=shares, prior=shares, weight=st.floats(0.05, 0.95), other=shares)
def test_no_mixture_has_a_smaller_sum_of_divergences(wanted, prior, weight, other):
    names = ["a", "b", "c"]
    policy = Anchored(Listener(dict(zip(names, wanted, strict=True))), dict(zip(names, prior, strict=True)), weight)

    def divergences(p):
        return (1 - weight) * divergence(p, wanted) + weight * divergence(p, prior)

    assert divergences(policy.probabilities(0)) <= divergences(other) + 1e-12


def test_the_anchored_mixture_is_what_a_solver_finds():
    wanted, prior, weight = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.3, 0.6]), 0.35
    found = optimize.minimize(
        lambda x: (
            (1 - weight) * divergence(np.exp(x) / np.exp(x).sum(), wanted)
            + weight * divergence(np.exp(x) / np.exp(x).sum(), prior)
        ),
        np.zeros(3),
        tol=1e-12,
    ).x
    names = ["a", "b", "c"]
    policy = Anchored(Fixed(dict(zip(names, wanted, strict=True))), dict(zip(names, prior, strict=True)), weight)
    np.testing.assert_allclose(policy.probabilities(0), np.exp(found) / np.exp(found).sum(), atol=1e-5)


def test_a_weight_of_nothing_is_the_policy_and_of_one_the_prior():
    inner, prior = Fixed({"a": 1, "b": 3}), {"a": 2, "b": 3}
    assert Anchored(inner, prior, weight=0).probabilities(0).tolist() == [0.25, 0.75]
    np.testing.assert_allclose(Anchored(inner, prior, weight=1).probabilities(0), [0.4, 0.6], rtol=1e-15)
    np.testing.assert_allclose(Anchored(inner, weight=1).probabilities(0), [0.5, 0.5], rtol=1e-15)


def test_what_a_policy_leaves_out_stays_out():
    assert Anchored(Fixed({"a": 0, "b": 1, "c": 1}), weight=0.5).probabilities(0).tolist() == [0.0, 0.5, 0.5]


def test_the_anchored_policy_hears_the_probability_of_the_draw():
    child = Listener({"a": 0.9, "b": 0.1})
    policy, rng = Anchored(child, weight=0.5), np.random.default_rng(0)  # √.9 : √.1 = 3 : 1
    total, draws = 0.0, 4000
    for step in range(draws):
        choice = policy.choose(step, rng)
        assert choice.probability == pytest.approx({"a": 0.75, "b": 0.25}[choice.task])
        policy.observe(choice.scored(float(choice.task == "b"), about="gain"))
    for heard in child.heard:
        total += heard.value / heard.probability
        assert heard.about == "gain"
    assert total / draws == pytest.approx(1.0, abs=4 * math.sqrt(3 / draws))  # importance weights are unbiased


@pytest.mark.parametrize("policy", [Cycle({"a": 1, "b": 1}), Union({"a": 1, "b": 1}), Hold(uniform(["a", "b"]), 2)])
def test_policies_whose_promise_an_anchor_would_break_are_refused(policy):
    with pytest.raises(RotaError, match=f"Found {type(policy).__name__}"):
        Anchored(policy)


def test_an_anchor_goes_inside_of_rounds_and_floors():
    inner = Anchored(Fixed({"a": 1, "b": 9}), weight=0.5)
    np.testing.assert_allclose(Hold(inner, 3).probabilities(0), [0.25, 0.75])
    np.testing.assert_allclose(WithFloor(inner, 0.2).probabilities(0), [0.3, 0.7])


def test_a_bandit_with_equal_shares_as_a_prior_is_the_bandit():
    rng, plain = np.random.default_rng(1), Exp3S(["a", "b", "c"], eta=0.1)
    prior = Exp3S(["a", "b", "c"], eta=0.1, prior={"a": 2, "b": 2, "c": 2})
    for step in range(300):
        choice, gain = plain.choose(step, rng), float(rng.normal())
        plain.observe(choice.scored(gain))
        prior.observe(choice.scored(gain))
        np.testing.assert_allclose(prior.probabilities(step), plain.probabilities(step), rtol=1e-9)


def test_a_bandit_without_rewards_stays_at_its_prior():
    policy, rng = Exp3S(["a", "b"], eta=0.5, prior={"a": 1, "b": 4}), np.random.default_rng(0)
    for step in range(500):
        policy.observe(policy.choose(step, rng).scored(0.0))
    np.testing.assert_allclose(policy.probabilities(500), [0.2, 0.8], rtol=1e-12)


def test_an_update_with_a_prior_by_hand():
    """μ = (1/4, 3/4), ε = 0.2, η = 0.3, α = 0.1, so α' = 0.2. The second value is scaled to 1; a was drawn at its π =
    ρ = 1/4, so its weight becomes e^1.2 / 4."""
    policy = Exp3S(["a", "b"], eta=0.3, epsilon=0.2, alpha=0.1, prior={"a": 1, "b": 3})
    np.testing.assert_allclose(policy.probabilities(0), [0.25, 0.75])
    policy.observe(Feedback("a", 0.0, probability=0.25, step=0))
    policy.observe(Feedback("a", 1.0, probability=0.25, step=1))
    a, b = math.exp(1.2) / 4, 3 / 4
    a, b = 0.8 * a + 0.2 * (a + b) / 4, 0.8 * b + 0.2 * (a + b) * 3 / 4
    np.testing.assert_allclose(policy.probabilities(2), [0.8 * a / (a + b) + 0.05, 0.8 * b / (a + b) + 0.15])


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=6), st.floats(0, 0.99))
def test_sharing_by_a_prior_conserves_the_mass(x, alpha):
    prior = np.arange(1.0, len(x) + 1) / sum(range(1, len(x) + 1))
    after = shared(np.array(x), alpha, prior)
    assert math.isclose(np.logaddexp.reduce(x), np.logaddexp.reduce(after), rel_tol=1e-9, abs_tol=1e-9)


def test_newcomers_begin_with_their_share_of_the_prior():
    old = Exp3S(["a", "b"], epsilon=0.0, prior={"a": 1, "b": 3})
    new = Exp3S(["b", "a", "c"], epsilon=0.0, prior={"a": 1, "b": 3, "c": 4})
    new.take_over(old)
    np.testing.assert_allclose(new.probabilities(0), [3 / 8, 1 / 8, 4 / 8])


def test_dynamix_by_hand():
    """α = 1/2, β = 2, γ = 0.2, μ = (1/4, 3/4). Of two tasks, the larger of the last gains has place 1, the smaller 0;
    the first one, alone, 0."""
    policy = DynamixSFT(["a", "b"], prior={"a": 1, "b": 3}, beta=2.0, gamma=0.2, alpha=0.5)
    np.testing.assert_allclose(policy.probabilities(0), 0.8 * np.array([0.25, 0.75]) + 0.1)
    told = [("b", 0.1, (0, 0)), ("a", 0.3, (0.5, 0)), ("b", 0.4, (0.5, 0.5)), ("a", 0.3, (0.25, 0.5))]
    for task, gain, values in told:
        policy.observe(Feedback(task, gain, probability=0.5))
        np.testing.assert_allclose(policy.values, values)
    a, b = math.exp(0.5), 3 * math.exp(1.0)
    np.testing.assert_allclose(policy.probabilities(4), [0.8 * a / (a + b) + 0.1, 0.8 * b / (a + b) + 0.1])


def test_dynamix_scales_by_the_gains_of_all_tasks():
    policy = DynamixSFT(["a", "b", "c"], alpha=0.0)
    for task, gain in {"a": -1.0, "b": 3.0, "c": 0.0}.items():
        policy.observe(Feedback(task, gain))
    np.testing.assert_allclose(policy.values, [0, 1, 0.25])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Anchored(uniform(["a"]), weight=1.1), "weight between 0 and 1"),
        (lambda: Anchored(uniform(["a", "b"]), {"a": 1}), "Found none for b"),
        (lambda: Anchored(uniform(["a", "b"]), {"a": 1, "b": 0}), "Found none for b"),
        (lambda: Anchored(uniform(["a"]), {"a": 1, "b": 1}), "Unknown task in the prior 'b'"),
        (lambda: Exp3S(["a"], prior={"a": -1}), "Found a=-1"),
        (lambda: DynamixSFT(["a"], beta=-1), "beta of 0 or more"),
        (lambda: DynamixSFT(["a"], gamma=1), r"gamma in \[0, 1\)"),
        (lambda: DynamixSFT(["a"], alpha=1), r"alpha in \[0, 1\)"),
    ],
)
def test_wrong_priors_are_refused_with_a_sentence(make, sentence):
    with pytest.raises(RotaError, match=sentence):
        make()


def test_methods_take_a_prior_and_an_anchor_by_name_or_by_weights():
    named = METHODS["exp3s"].make({"prior": "sqrt"}, CONTEXT).policy
    assert named.probabilities(0) == pytest.approx([0.25, 0.75])
    given = METHODS["exp3s-visits"].make({"anchor": "0.5", "anchor_prior": "a=1,b=81"}, CONTEXT).policy
    assert given.probabilities(0) == pytest.approx([0.1, 0.9])
    assert METHODS["dynamix"].make({}, CONTEXT).policy.probabilities(0) == pytest.approx([0.22, 0.78])
    with pytest.raises(RotaError, match="Missing: b"):
        METHODS["dynamix"].make({"prior": {"a": 1}}, CONTEXT)
    with pytest.raises(RotaError, match="wrong field"):
        METHODS["exp3s"].make({"anchor": 2}, CONTEXT)
