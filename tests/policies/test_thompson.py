"""Thompson sampling: conjugate, forgetful, and with probabilities that are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from rota.errors import RotaError
from rota.feedback import Feedback
from rota.policies import Hold, Thompson
from rota.policies._beta import Betas, best_of_many


def told(policy, outcomes):
    for task, value in outcomes:
        policy.observe(Feedback(task, value, 0.5))
    return policy


OUTCOMES = [("a", 1.0), ("b", 0.0), ("a", 1.0), ("a", 0.0), ("c", 1.0), ("b", 0.0)]


def test_without_decay_it_counts_successes_and_failures():
    policy = told(Thompson(list("abc"), decay=0), OUTCOMES)
    assert policy.successes.tolist() == [3, 1, 2]
    assert policy.failures.tolist() == [2, 3, 1]
    assert policy.utilities == pytest.approx({"a": 3 / 5, "b": 1 / 4, "c": 2 / 3})


def test_with_full_decay_it_knows_the_prior_and_the_last_outcome():
    policy = told(Thompson(list("abc"), decay=1, prior=(2.0, 3.0)), OUTCOMES)
    assert policy.successes.tolist() == [2, 2, 2]
    assert policy.failures.tolist() == [3, 4, 3]


def test_a_twentieth_is_forgotten_unless_told_otherwise():
    policy = told(Thompson(list("ab")), [("a", 1.0), ("a", 1.0)])
    assert policy.successes.tolist() == pytest.approx([1 + 0.95 + 1, 1])


def test_decay_by_hand():
    policy = told(Thompson(list("ab"), decay=0.25), [("a", 1.0), ("b", 0.5)])
    # a: (1, 1) → (2, 1) → (1.75, 1); b: (1, 1) → (1, 1) → (1.5, 1.5)
    assert policy.successes.tolist() == [1.75, 1.5]
    assert policy.failures.tolist() == [1.0, 1.5]


def test_the_primary_comes_first_and_its_prior_fades():
    policy = Thompson(list("abc"), decay=0.5, primary="b", primary_prior=(5.0, 1.0))
    assert policy.shares(0) == {"a": 0.0, "b": 1.0, "c": 0.0}
    assert policy.utilities["b"] == pytest.approx(5 / 6)
    assert Thompson(list("abc"), primary="b").utilities == pytest.approx({"a": 1 / 2, "b": 2 / 3, "c": 1 / 2})
    told(policy, [("a", 1.0)] * 40)
    assert policy.utilities["b"] == pytest.approx(0.5)
    assert 0 < policy.shares(1)["b"] < 0.5


@settings(max_examples=40, deadline=None)
@given(
    values=st.lists(st.tuples(st.sampled_from("abcd"), st.floats(-2, 3)), max_size=30),
    decay=st.floats(0, 1),
    prior=st.tuples(st.floats(0.1, 20), st.floats(0.1, 20)),
)
def test_counts_stay_positive_and_utilities_between_zero_and_one(values, decay, prior):
    policy = told(Thompson(list("abcd"), decay=decay, prior=prior), values)
    assert (policy.successes > 0).all()
    assert (policy.failures > 0).all()
    assert all(0 < utility < 1 for utility in policy.utilities.values())
    if decay > 0.05:
        assert (policy.successes + policy.failures <= sum(prior) + 1 / decay + 1e-9).all()


CASES = {
    "the prior": ([1, 1, 1], [1, 1, 1]),
    "after some rounds": ([3.2, 1.4, 2.0, 1.1, 5.0], [1.2, 2.8, 2.0, 1.0, 4.0]),
    "weak priors": ([0.2, 0.5, 3.0, 0.3], [0.4, 0.2, 1.0, 0.9]),
    "narrow beside wide": ([5000, 40, 1, 800], [5000, 40, 1, 790]),
    "nine": ([1, 2, 3, 4, 5, 6, 7, 8, 9], [9, 8, 7, 6, 5, 4, 3, 2, 1]),
}


@pytest.mark.parametrize("case", CASES)
def test_probabilities_are_those_of_a_million_draws_and_of_an_integral(case):
    a, b = (np.array(numbers, dtype=float) for numbers in CASES[case])
    found = Betas.of(a, b).best()
    rng = np.random.default_rng(0)
    wins = sum(np.bincount(rng.beta(a, b, size=(100_000, len(a))).argmax(1), minlength=len(a)) for _ in range(10))
    assert np.abs(found - wins / 1_000_000).max() < 0.002
    at = np.linspace(-80, 80, 400_001)
    below = special.betainc(a[:, None], b[:, None], special.expit(at))
    others = np.stack([np.delete(below, k, axis=0).prod(0) for k in range(len(a))])
    exact = (np.diff(below, axis=1) * (others[:, 1:] + others[:, :-1])).sum(1) / 2
    assert np.abs(found - exact).max() < 2e-4


@pytest.mark.parametrize("case", CASES)
def test_intervals_are_quantiles(case):
    a, b = (np.array(numbers, dtype=float) for numbers in CASES[case])
    for level in (0.025, 0.5, 0.975):
        assert Betas.of(a, b).quantiles(level) == pytest.approx(stats.beta.ppf(level, a, b), abs=2e-3)


@pytest.mark.parametrize("case", ["the prior", "after some rounds", "narrow beside wide"])
def test_cumulative_distributions_are_incomplete_beta_functions(case):
    a, b = (np.array(numbers, dtype=float) for numbers in CASES[case])
    betas = Betas.of(a, b)
    exact = special.betainc(a[:, None], b[:, None], special.expit(betas.at))
    np.testing.assert_allclose(betas.below, exact, atol=5e-7)


def test_cumulative_distributions_rise_from_nothing_to_one():
    """Rounding would let them fall where parameters are tiny, and end beside 1."""
    betas = Betas.of(np.array([0.01, 5.0, 1e-3, 1e6]), np.array([5.0, 0.01, 1.0, 1e6]))
    assert (np.diff(betas.below, axis=1) >= 0).all()
    assert (betas.below[:, 0] >= 0).all()
    assert betas.below[:, -1].tolist() == [1, 1, 1, 1]


def test_an_interval_holds_the_utility():
    policy = told(Thompson(list("abc"), decay=0), OUTCOMES)
    low, high = policy.intervals()["a"]
    assert low < policy.utilities["a"] < high
    assert (low, high) == pytest.approx(stats.beta.interval(0.95, 3, 2), abs=1e-3)
    wider = policy.intervals(0.99)["a"]
    assert wider[0] < low < high < wider[1]


def test_a_thousand_tasks_are_not_too_many():
    policy = Thompson([str(k) for k in range(1000)], decay=0)
    told(policy, [("7", 1.0)] * 50)
    probabilities = policy.probabilities(0)
    assert probabilities.sum() == pytest.approx(1)
    # Of 999 uniform draws some are very large: 50 of 50 is not the best of them too often.
    rng = np.random.default_rng(0)
    wins = np.mean(rng.beta(51, 1, 20_000) > rng.random((20_000, 999)).max(1))
    assert probabilities[7] == pytest.approx(wins, abs=0.01)


def test_it_finds_the_task_that_does_good():
    policy, rng = Thompson(list("abcd"), decay=0.02), np.random.default_rng(0)
    chosen = []
    for step in range(400):
        choice = policy.choose(step, rng)
        chosen.append(choice.task)
        policy.observe(choice.scored(float(rng.random() < {"c": 0.9}.get(choice.task, 0.3))))
    assert chosen[-100:].count("c") > 70


def test_held_for_a_round_it_hears_once_per_round():
    policy, rng = Hold(Thompson(list("ab"), decay=0), steps=5), np.random.default_rng(0)
    for step in range(10):
        choice = policy.choose(step, rng)
        if step % 5 == 4:
            policy.observe(choice.scored(1.0))
    assert policy.policy.heard == 2
    assert policy.policy.successes.sum() == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"decay": 1.5}, "decay"),
        ({"decay": -0.1}, "decay"),
        ({"prior": (1.0, 1.0, 1.0)}, "two positive numbers"),
        ({"prior": (1.0, 1e9)}, "two positive numbers"),
        ({"prior": (0.0, 1.0)}, "positive"),
        ({"primary_prior": (1.0, float("nan")), "primary": "a"}, "positive"),
        ({"primary": "z"}, "'z'"),
    ],
)
def test_wrong_arguments_are_refused(options, said):
    with pytest.raises(RotaError, match=said):
        Thompson(list("abc"), **options)


@pytest.mark.parametrize("case", CASES)
def test_many_are_compared_as_few_are(case):
    a, b = (np.array(numbers, dtype=float) for numbers in CASES[case])
    np.testing.assert_allclose(best_of_many(a, b), Betas.of(a, b).best(), atol=0.01)


def test_the_best_of_thousands_is_that_of_many_draws():
    """Most were never tried, a few did well or badly: two kinds of probability that differ by a thousand times."""
    a, b = np.ones(3000), np.ones(3000)
    a[:40], b[:40] = np.linspace(1, 400, 40), 1.5
    found, rng = best_of_many(a, b), np.random.default_rng(0)
    wins = np.zeros(3000)
    for _ in range(40):
        wins += np.bincount(rng.beta(a, b, size=(500, 3000)).argmax(1), minlength=3000)
    assert found.sum() == pytest.approx(1)
    assert found[40:].sum() == pytest.approx(wins[40:].sum() / 20_000, abs=0.012)
    assert np.abs(found[:40] - wins[:40] / 20_000).max() < 0.006
