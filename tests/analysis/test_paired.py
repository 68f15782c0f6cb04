"""Differences seed by seed: intervals, what they are called, how many seeds would tell."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rota.analysis import paired
from rota.errors import RotaError

scores = st.lists(st.floats(0, 1, width=32), min_size=2, max_size=12)


def by_seed(values):
    return dict(enumerate(map(float, values)))


@given(scores, st.integers(0, 2**32 - 1))
def test_the_interval_is_that_of_the_paired_t_test(one, seed):
    other = np.random.default_rng(seed).random(len(one))
    found = paired(by_seed(one), by_seed(other))
    expected = stats.ttest_rel(one, other).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-9, abs=1e-12)
    assert found.n == len(one)


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_a_method_is_not_better_than_itself(seeds):
    rng = np.random.default_rng(seeds)
    runs = rng.normal(0.8, 0.01, size=(2000, 2, seeds)) + rng.normal(0, 0.02, size=(2000, 1, seeds))  # seeds differ
    called = [paired(by_seed(one), by_seed(other)).tells for one, other in runs]
    assert 0.935 <= 1 - np.mean(called) <= 0.965


def test_the_bootstrap_keeps_its_promise_from_ten_seeds_on():
    rng = np.random.default_rng(1)
    runs = rng.normal(0.8, 0.01, size=(200, 2, 10))
    called = [paired(by_seed(one), by_seed(other), "bootstrap").tells for one, other in runs]
    assert 0.9 <= 1 - np.mean(called) <= 0.99
    with pytest.raises(RotaError, match="expects 10 seeds or more"):
        paired(by_seed(range(9)), by_seed(range(9)), "bootstrap")
    alike = paired(by_seed(range(10)), by_seed(range(10)), "bootstrap")
    assert (alike.low, alike.high, alike.tells) == (0, 0, False)


def test_few_seeds_say_what_they_can():
    nothing, one = paired({}, {}), paired({0: 0.75}, {0: 0.5, 1: 0.5})
    assert (nothing.n, math.isnan(nothing.mean), nothing.tells, nothing.seeds_needed) == (0, True, False, None)
    assert (one.n, one.mean, math.isnan(one.low), one.tells, one.seeds_needed) == (1, 0.25, True, False, None)
    two = paired({0: 0.75, 1: 0.75}, {0: 0.5, 1: 0.5})
    assert (two.tells, two.seeds_needed) == (False, 3)  # however clear: two are no evidence
    three = paired({0: 0.75, 1: 0.75, 2: 0.75}, {0: 0.5, 1: 0.5, 2: 0.5})
    assert (three.low, three.high, three.tells) == (0.25, 0.25, True)


def test_the_seeds_that_it_would_take_find_it_four_times_in_five():
    found = paired({0: 0.80, 1: 0.82, 2: 0.83, 3: 0.84}, {0: 0.80, 1: 0.80, 2: 0.80, 3: 0.80})
    spread = found.error * 2
    needed = found.seeds_needed
    rng = np.random.default_rng(0)

    def share(n):
        drawn = rng.normal(found.mean, spread, size=(4000, n))
        return (stats.ttest_1samp(drawn, 0, axis=1).pvalue < 0.05).mean()

    assert share(needed) >= 0.78
    assert share(needed - 1) < 0.82
    hopeless = {seed: 0.5 + (-1) ** seed * 0.1 + 1e-4 for seed in range(10)}
    assert paired(hopeless, dict.fromkeys(range(10), 0.5)).seeds_needed is None
