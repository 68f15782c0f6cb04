"""The Gaussian process, the acquisitions and the spaces, each against its definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import norm

from rota.search._acquisition import (
    expected_improvement,
    hedge_weights,
    portfolio,
    probability_of_improvement,
    upper_confidence_bound,
)
from rota.search._box import Box
from rota.search._space import CELLS, Ratios, Simplex
from rota.search._surrogate import Surrogate

DEFAULT = {"a": (1, 20), "b": (0, 5), "c": (0, 5)}


def matern(X, Y, lengths):
    r = math.sqrt(5) * cdist(X / lengths, Y / lengths)
    return (1 + r + r**2 / 3) * np.exp(-r)


def test_the_posterior_is_that_of_a_gaussian_process():
    rng = np.random.default_rng(0)
    X, Z = rng.random((15, 2)), rng.random((40, 2))
    y = 3 + np.sin(4 * X[:, 0]) + 0.1 * rng.normal(size=15)
    model = Surrogate(X, y)
    kernel = model._gp.kernel_
    amplitude, lengths = kernel.k1.k1.constant_value, kernel.k1.k2.length_scale
    K = amplitude * matern(X, X, lengths) + (model.noise + 1e-10) * np.eye(15)
    k = amplitude * matern(Z, X, lengths)
    mean, deviation = model.predict(Z)
    assert mean == pytest.approx(k @ np.linalg.solve(K, (y - y.mean()) / y.std()), abs=1e-6)
    variance = amplitude - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T))
    assert deviation == pytest.approx(np.sqrt(np.maximum(variance, 1e-12)), abs=1e-5)


def test_the_fit_is_the_same_every_time_and_values_may_be_equal():
    X = np.random.default_rng(1).random((6, 2))
    one, two = (Surrogate(X, X.sum(axis=1), seed=3).predict(X) for _ in range(2))
    assert np.array_equal(one, two)
    mean, deviation = Surrogate(X[:1], np.array([0.7])).predict(X)
    assert np.isfinite(mean).all()
    assert (deviation > 0).all()
    assert np.isfinite(Surrogate(X, np.full(6, 0.5)).predict(X)).all()


def test_acquisitions_equal_their_integrals():
    mean, deviation = np.array([-0.4, 0.0, 0.9]), np.array([0.5, 1.0, 0.1])
    best, xi = 0.3, 0.01
    draws = np.random.default_rng(0).normal(size=(1_000_000, 1)) * deviation + mean
    better = draws - best - xi
    assert probability_of_improvement(mean, deviation, best, xi) == pytest.approx((better > 0).mean(axis=0), abs=2e-3)
    assert expected_improvement(mean, deviation, best, xi) == pytest.approx(
        np.maximum(better, 0).mean(axis=0), abs=2e-3
    )
    z = (mean - best - xi) / deviation
    assert probability_of_improvement(mean, deviation, best, xi) == pytest.approx(norm.cdf(z))
    assert expected_improvement(mean, deviation, best, xi) == pytest.approx(
        (mean - best - xi) * norm.cdf(z) + deviation * norm.pdf(z)
    )
    assert upper_confidence_bound(mean, deviation, 1.96) == pytest.approx(mean + 1.96 * deviation)
    assert list(portfolio(mean, deviation, best, 1.96, xi)) == ["PI", "EI", "UCB"]


def test_hedge_listens_to_those_who_earned_more():
    weights = hedge_weights(np.array([1.0, 3.0, 2.0]), 1.0)
    assert weights == pytest.approx(np.exp([1, 3, 2]) / np.exp([1, 3, 2]).sum())
    assert hedge_weights(np.array([1e6, -1e6, 0.0]), 1.0).tolist() == [1.0, 0.0, 0.0]
    assert hedge_weights(np.zeros(3), 1.0) == pytest.approx(1 / 3)


@pytest.mark.parametrize("bounds", [DEFAULT, dict.fromkeys("abcdef", (0, 9))])
def test_ratios_stay_in_their_bounds(bounds):
    space, rng = Ratios(bounds), np.random.default_rng(0)
    low, high = np.array(list(bounds.values())).T
    for points in (space.draw(rng, 500), space.candidates(rng, space.draw(rng, 3)), space.grid(20)):
        assert (points >= low).all()
        assert (points <= high).all()
        assert (points.sum(axis=1) > 0).all()
        assert (points == points.round()).all()
        features = space.features(points)
        assert features.min() >= 0
        assert features.max() <= 1


def test_a_small_space_is_listed_and_a_large_one_sampled_with_neighbours():
    rng = np.random.default_rng(0)
    assert len(Ratios(DEFAULT).candidates(rng, np.zeros((0, 3)))) == 20 * 6 * 6
    large = Ratios(dict.fromkeys("abcdef", (0, 9)))
    assert large.size > CELLS
    good = np.array([[3.0, 4, 5, 6, 7, 8]])
    rows = {tuple(row) for row in large.candidates(rng, good)}
    assert {(3, 4, 5, 6, 7, 9), (2, 4, 5, 6, 7, 8)} <= rows
    assert (3, 4, 5, 6, 7, 10) not in rows


def test_ratios_of_the_same_proportion_are_one_point():
    space = Ratios(DEFAULT)
    points = np.array([[20.0, 0, 5], [4, 0, 1], [8, 0, 2], [9, 1, 4]])
    assert space.canonical(points).tolist() == [[4, 0, 1], [4, 0, 1], [4, 0, 1], [9, 1, 4]]
    features = space.features(points)
    assert (features[0] == features[1]).all()
    assert (features[0] == features[2]).all()


@pytest.mark.parametrize("size", [1, 5, 12, 20])
def test_grids_have_the_asked_size_and_no_repeats(size):
    for space in (Ratios(DEFAULT), Simplex("abc")):
        points = space.canonical(space.grid(size))
        assert len(np.unique(points, axis=0)) == len(points) == size


def test_points_of_the_simplex_sum_to_one():
    space, rng = Simplex("abcd"), np.random.default_rng(0)
    for points in (space.draw(rng, 300), space.candidates(rng, space.draw(rng, 2)), space.grid(20)):
        assert points.sum(axis=1) == pytest.approx(1.0)
        assert points.min() >= 0
        assert len(points) >= 20


def test_a_box_knows_whole_numbers_steps_and_logarithms():
    from optuna.distributions import FloatDistribution, IntDistribution

    box = Box({"rate": FloatDistribution(1e-4, 1.0, log=True), "n": IntDistribution(1, 9, step=2)})
    rng = np.random.default_rng(0)
    points = box.candidates(rng, box.draw(rng, 2))
    assert box.names == ("n", "rate")
    assert set(points[:, 0]) == {1, 3, 5, 7, 9}
    assert box.features(np.array([[1, 1e-4], [9, 1.0], [5, 1e-2]])) == pytest.approx(
        np.array([[0, 0], [1, 1], [0.5, 0.5]])
    )
    assert len(box.grid(9)) == 9
    listed = Box({"a": IntDistribution(0, 3), "b": IntDistribution(0, 2)}).candidates(rng, np.zeros((0, 2)))
    assert {tuple(row) for row in listed} == set(itertools.product(range(4), range(3)))
