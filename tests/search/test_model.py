"""The Gaussian process, the acquisitions and the spaces, each against its definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal, norm

from rota.errors import RotaError
from rota.search._acquisition import (
    expected_improvement,
    hedge_weights,
    portfolio,
    probability_of_improvement,
    upper_confidence_bound,
)
from rota.search._box import Box
from rota.search._space import CELLS, Ratios, Simplex
from rota.search._surrogate import JITTER, Kernel, KernelPosterior, Surrogate, most_probable

DEFAULT = {"a": (1, 20), "b": (0, 5), "c": (0, 5)}


def matern(X, Y, lengths):
    r = math.sqrt(5) * cdist(X / lengths, Y / lengths)
    return (1 + r + r**2 / 3) * np.exp(-r)


def test_the_posterior_is_that_of_a_gaussian_process():
    rng = np.random.default_rng(0)
    X, Z = rng.random((15, 2)), rng.random((40, 2))
    y = 3 + np.sin(4 * X[:, 0]) + 0.1 * rng.normal(size=15)
    model = Surrogate(X, y)
    amplitude, lengths = model.kernel.amplitude, model.kernel.lengths
    K = amplitude * matern(X, X, lengths) + (model.noise + JITTER) * np.eye(15)
    k = amplitude * matern(Z, X, lengths)
    mean, deviation = model.predict(Z)
    assert mean == pytest.approx(k @ np.linalg.solve(K, (y - y.mean()) / y.std()), abs=1e-6)
    variance = amplitude - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T))
    assert deviation == pytest.approx(np.sqrt(np.maximum(variance, 1e-12)), abs=1e-5)


@pytest.mark.parametrize("nu", [1.5, 2.5])
def test_predictions_are_those_of_scikit_learn_with_the_same_kernel(nu):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern

    rng = np.random.default_rng(1)
    X, Z = rng.random((12, 3)), rng.random((30, 3))
    y = np.cos(3 * X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=12)
    model = Surrogate(X, y, nu)
    kernel = ConstantKernel(model.kernel.amplitude, "fixed") * Matern(model.kernel.lengths, "fixed", nu=nu)
    known = GaussianProcessRegressor(kernel, alpha=model.noise + JITTER, optimizer=None).fit(X, model.normalised(y))
    assert np.array(model.predict(Z)) == pytest.approx(np.array(known.predict(Z, return_std=True)), abs=1e-5)


@pytest.mark.parametrize("nu", [1.5, 2.5])
def test_hyper_parameters_are_judged_by_likelihood_and_prior(nu):
    rng = np.random.default_rng(2)
    X, y = rng.random((9, 3)), rng.normal(size=9)
    posterior = KernelPosterior(X, y, nu)

    def by_definition(logs):
        kernel = Kernel(math.exp(logs[0]), math.exp(logs[1]), np.exp(logs[2:]), nu)
        covariances = kernel.between(X, X) + (kernel.noise + JITTER) * np.eye(9)
        likelihood = multivariate_normal(np.zeros(9), covariances).logpdf(y)
        likely = [0.0, math.log(0.01), *[0.5 * math.log(3)] * 3]
        return likelihood + norm.logpdf(logs, likely, [1.5, 2.0, 1.0, 1.0, 1.0]).sum()

    places = rng.normal(size=(4, 5)) - 0.5
    gaps = [posterior(logs)[0] + by_definition(logs) for logs in places]  # minus the logarithm, up to a constant
    assert gaps == pytest.approx([gaps[0]] * 4, abs=1e-5)
    for logs in places:
        steps = 1e-6 * np.eye(5)
        numeric = [(posterior(logs + step)[0] - posterior(logs - step)[0]) / 2e-6 for step in steps]
        assert posterior(logs)[1] == pytest.approx(numeric, abs=1e-5)


def test_what_is_found_is_more_probable_than_anything_near_it():
    rng = np.random.default_rng(3)
    X = rng.random((14, 2))
    y = Surrogate(X, X[:, 0]).normalised(X[:, 0] + 0.1 * rng.normal(size=14))
    found = most_probable(X, y, 2.5, restarts=2, rng=np.random.default_rng(0))
    logs = np.log([found.amplitude, found.noise, *found.lengths])
    posterior = KernelPosterior(X, y, 2.5)
    near = [posterior(logs + 0.3 * rng.normal(size=4))[0] for _ in range(200)]
    assert posterior(logs)[0] <= min(near)


def test_another_smoothness_is_refused():
    with pytest.raises(RotaError, match=r"expects nu of 1\.5 or 2\.5\. Found 2\.0"):
        Surrogate(np.zeros((2, 1)), np.zeros(2), nu=2.0)


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


def test_a_model_may_see_shares_or_numbers_or_both():
    points = np.array([[20.0, 0, 5], [4, 0, 1], [1, 5, 0]])
    shares = [[0, 0.2], [0, 0.2], [5 / 6, 0]]
    numbers = [[1, 0, 1], [3 / 19, 0, 0.2], [0, 1, 0]]
    seen = {name: Ratios(DEFAULT, name).features(points) for name in ("shares", "raw", "both")}
    assert seen["shares"] == pytest.approx(np.array(shares))
    assert seen["raw"] == pytest.approx(np.array(numbers))
    assert seen["both"] == pytest.approx(np.hstack([shares, numbers]))
    fixed = Ratios({"a": (3, 3), "b": (0, 2)}, "raw")  # a number that cannot be another one says nothing
    assert fixed.features(np.array([[3.0, 1.0]])).tolist() == [[0.0, 0.5]]


def test_where_numbers_are_seen_equal_proportions_are_different_points():
    points = np.array([[20.0, 0, 5], [4, 0, 1]])
    for name in ("raw", "both"):
        assert Ratios(DEFAULT, name).canonical(points).tolist() == points.tolist()


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
