"""Learning curves: known shapes are found again, and budgets go where they bring most."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from rota.curves import History, expected_scores, filled, fit_curve, fit_points, shared_out
from rota.curves._bank import PRIOR, fit_bank
from rota.curves._fill import _falling
from rota.errors import RotaError

X = np.arange(1, 401) / 400


@pytest.mark.parametrize(
    ("scores", "seen", "later"),
    [
        (0.3 + 0 * X, 0.3, 0.3),  # nothing to learn
        (0.2 + 0.5 * np.minimum(X / 0.5, 1), 0.7, 0.7),  # learned
        (0.1 + 0.6 * (1 - np.exp(-X / 0.2)), 0.7, 0.7),  # nearly learned
        (0.9 * np.minimum(X / 0.25, 1), 0.9, 0.9),
    ],
)
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_known_shapes_are_found_again_and_go_no_further(scores, seen, later, noise):
    rng = np.random.default_rng(0)
    curve = fit_curve(scores + noise * rng.normal(size=400))
    assert curve(400) == pytest.approx(seen, abs=0.01 + noise / 2)
    assert curve(4000) == pytest.approx(later, abs=0.02 + noise)
    assert curve.noise == pytest.approx(noise, abs=0.01)
    assert np.abs(curve(400 * X) - scores).max() < 0.03 + noise


def test_a_line_goes_on_but_not_for_ever():
    curve = fit_curve(0.3 * X)
    assert curve(400) == pytest.approx(0.3, abs=0.01)
    assert 0.4 < curve(800) < 0.6
    assert curve(800) < curve(1600) <= 1.0
    assert curve.gain == pytest.approx(0.3, abs=0.02)


def test_a_task_that_begins_late_is_not_given_up():
    late = fit_curve(np.maximum(X - 0.6, 0))
    assert late(800) > late(400) + 0.1


@given(st.lists(st.floats(-5, 1), min_size=2, max_size=200))
@example([0.0] * 8 + [-1.0] * 3 + [0.0] * 6)  # a line that begins late ends above 1
def test_curves_are_finite_never_above_one_and_never_fall(scores):
    curve = fit_curve(scores)
    values = curve(np.linspace(0, 5 * len(scores), 50))
    assert np.isfinite(values).all()
    assert (values <= 1 + 1e-9).all()
    assert (np.diff(values) >= -1e-9).all()
    assert curve.weights.sum() == pytest.approx(1)


def test_curves_need_scores():
    for scores in ([], [0.5], [0.5, np.nan], [[0.5, 0.6]]):
        with pytest.raises(RotaError, match="two scores or more"):
            fit_curve(scores)


def test_expected_scores_are_means_over_the_visits_that_chance_gives():
    curve = fit_curve(np.minimum(X / 0.5, 1) * 0.8)
    rng = np.random.default_rng(0)
    for share, tolerance in ((0.1, 1e-3), (0.25, 0.01), (0.5, 1e-3)):  # 0.25: the curve bends at the mean
        drawn = curve(rng.binomial(800, share, 20_000)).mean()
        assert expected_scores(curve, 800, np.array([share]))[0] == pytest.approx(drawn, abs=tolerance)


def test_a_budget_is_filled_as_brute_force_would():
    curves = [fit_curve(np.minimum(X / p, 1) * height) for p, height in ((0.9, 0.9), (0.4, 0.5), (0.1, 0.9))]
    found = filled(curves, 900)

    def worth(mixture):
        return sum(
            expected_scores(curve, 900, np.array([share]))[0] for curve, share in zip(curves, mixture, strict=True)
        )

    grid = np.arange(0.25 / 3, 1, 0.02)
    best = max(
        (worth((a, b, 1 - a - b)) for a, b in itertools.product(grid, grid) if 1 - a - b >= 0.25 / 3), default=0.0
    )
    assert found.sum() == pytest.approx(1)
    assert (found >= 0.25 / 3 - 1e-12).all()
    assert worth(found) >= best - 0.01


def test_where_nothing_can_be_learned_everybody_gets_the_same():
    curves = [fit_curve(np.full(50, 0.3)), fit_curve(np.full(50, 0.6))]
    assert filled(curves, 100) == pytest.approx([0.5, 0.5], abs=0.01)


def test_points_here_and_there_say_what_all_visits_say():
    visits = np.arange(1, 401)
    scores = 0.2 + 0.6 * (1 - np.exp(-visits / 80))
    points = fit_points(visits[::20], scores[::20])
    assert points.visits == 381
    np.testing.assert_allclose(points([100, 400, 2000]), fit_curve(scores)([100, 400, 2000]), atol=0.02)


def test_gains_are_differences_of_scores_and_less_sure_the_further_they_reach():
    curve = fit_points(np.arange(10) * 40, 0.05 * np.arange(10) + 0.01 * np.cos(9 * np.arange(10)))
    gains, spreads = zip(*(curve.gain_until(visits) for visits in (360, 400, 720)), strict=True)
    assert gains == pytest.approx([0.0, *(curve([400, 720]) - curve(360))])
    assert 0 == spreads[0] < spreads[1] < spreads[2]


@pytest.mark.parametrize(("visits", "scores"), [([0, 1], [0.5]), ([2, 1], [0.1, 0.2]), ([0, 0], [0.1, 0.2])])
def test_points_need_visits_that_go_up(visits, scores):
    with pytest.raises(RotaError, match="expects"):
        fit_points(visits, scores)


# By brute force: every shape for itself, by the least squares of NumPy, and plateaus one by one.


def some_blocks():
    """Means of blocks of two tasks: one that rises, of which a block is missing, and one that falls, and is noisy."""
    means = np.array([[0.1, 0.3, 0.35, 0.5, 0.0], [0.6, 0.4, 0.5, 0.3, 0.2]])
    sizes = np.array([[10.0, 10.0, 10.0, 20.0, 0.0], [5.0, 5.0, 5.0, 5.0, 5.0]])
    return means, sizes, np.array([0.1, 0.4]), np.array([50.0, 25.0])


def slow_shapes(x):
    """At one place."""
    kinks = [min(x / (k / 20), 1.0) for k in range(1, 20)]
    falls = [1 - math.exp(-x / time) for time in (0.05, 0.1, 0.2, 0.35, 0.6, 1.0, 2.0)]
    lines = [max(x - onset, 0.0) / (1 - onset) for onset in (0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.85)]
    return np.array([0.0, *kinks, *falls, *lines])


def slow_fit(means, sizes, noise, places):
    """Start and rise of each shape, how likely the means are, and the variances of both."""
    w = 1 / (noise**2 / sizes + 0.004**2)
    found = []
    for g in np.array([slow_shapes(x) for x in places]).T:
        design = np.stack([np.ones_like(g), g], axis=1)
        rooted = np.sqrt(w)[:, None] * design
        (start, rise), *_ = np.linalg.lstsq(rooted, np.sqrt(w) * means, rcond=None)
        if rise <= 0 or np.ptp(g) == 0:
            start, rise = (w * means).sum() / w.sum(), 0.0
        misfit = (w * (means - start - rise * g) ** 2).sum()
        covariance = np.linalg.inv(rooted.T @ rooted) if np.ptp(g) > 0 else np.zeros((2, 2))
        found.append((start, rise, misfit, covariance[1, 1], (w * g).sum() / w.sum()))
    return np.array(found).T


@pytest.mark.parametrize("noisy", [0.4, 10.0])
def test_a_bank_is_fitted_as_every_shape_by_itself_would_be(noisy):
    means, sizes, noise, visits = some_blocks()
    noise[1] = noisy
    bank = fit_bank(means, sizes, noise, visits)
    prior = [0.2 * math.e, *[0.3 / 19] * 19, *[0.25 / 7] * 7, 0.15, *[0.1 / 6] * 6]
    for task, middles in enumerate(([5.5, 15.5, 25.5, 40.5], [3, 8, 13, 18, 23])):  # of blocks that begin with visit 1
        seen = sizes[task] > 0
        starts, rises, misfits, tilts, centres = slow_fit(
            means[task, seen], sizes[task, seen], noise[task], np.array(middles) / visits[task]
        )
        np.testing.assert_allclose(bank.starts[task], starts, atol=1e-9)
        np.testing.assert_allclose(bank.rises[task], rises, atol=1e-9)
        weights = prior * np.exp(-misfits / 2)
        np.testing.assert_allclose(bank.weights[task], weights / weights.sum(), atol=1e-9)
        np.testing.assert_allclose(bank.tilts[task], tilts, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(bank.middles[task], centres)
        w = 1 / (noise[task] ** 2 / sizes[task, seen] + 0.004**2)
        assert bank.blurs[task] == pytest.approx(1 / w.sum())
    assert bank.flat.tolist() == bank.weights[:, 0].tolist()
    assert bank.flat[0] < 0.01 < 0.4 < bank.flat[1]


def test_of_what_nobody_has_seen_only_the_prior_is_known():
    bank = fit_bank(np.zeros((1, 3)), np.zeros((1, 3)), np.zeros(1), np.ones(1))
    assert bank.weights[0] == pytest.approx(PRIOR / PRIOR.sum())
    assert bank.scores(np.array([[0.0, 1.0, 9.0]])).tolist() == [[0.0, 0.0, 0.0]]


def slow_members(bank, task, visits):
    """Mean and variance of each shape after so many visits: lines end at a plateau anywhere between their end and 1."""
    g = slow_shapes(visits / bank.visits[task])
    values = bank.starts[task] + bank.rises[task] * g
    ends, variances = bank.starts[task] + bank.rises[task], np.zeros_like(values)
    for k in range(len(values) - 7, len(values)):
        if values[k] > ends[k]:
            plateaus = np.minimum(values[k], np.linspace(ends[k], 1.0, 200_001))
            values[k], variances[k] = plateaus.mean(), plateaus.var()
    return g, np.minimum(values, 1.0), variances


def test_scores_spreads_and_gains_are_those_of_all_shapes_and_plateaus():
    bank = fit_bank(*some_blocks())
    asked = np.array([[20.0, 50.0, 80.0, 400.0], [20.0, 25.0, 60.0, 400.0]])
    scores, spreads = bank.scores(asked), bank.spreads(asked)
    gains, doubts = bank.gains(asked[:, :1], asked)
    for task, row in enumerate(asked):
        weights, old = bank.weights[task], slow_members(bank, task, row[0])
        for place, visits in enumerate(row):
            g, values, variances = slow_members(bank, task, visits)
            mean = (weights * values).sum()
            assert scores[task, place] == pytest.approx(mean, abs=1e-5)
            own = variances + bank.blurs[task] + bank.tilts[task] * (g - bank.middles[task]) ** 2
            spread = (weights * (own + (values - mean) ** 2)).sum() ** 0.5
            assert spreads[task, place] == pytest.approx(spread, abs=1e-5)
            gain = (weights * (values - old[1])).sum()
            assert gains[task, place] == pytest.approx(gain, abs=1e-5)
            own = variances + bank.tilts[task] * (g - old[0]) ** 2
            doubt = (weights * (own + (values - old[1] - gain) ** 2)).sum() ** 0.5
            assert doubts[task, place] == pytest.approx(doubt, abs=1e-5)


def test_some_tasks_may_have_the_curves_of_another_bank():
    means, sizes, noise, visits = some_blocks()
    one, other = fit_bank(means, sizes, noise, visits), fit_bank(means / 2, sizes, noise, 2 * visits)
    mixed, asked = one.but(other, np.array([False, True])), np.array([[30.0], [30.0]])
    assert mixed.scores(asked)[0] == one.scores(asked)[0] != other.scores(asked)[0]
    assert mixed.scores(asked)[1] == other.scores(asked)[1] != one.scores(asked)[1]
    assert one.visits.tolist() == visits.tolist()


@pytest.mark.parametrize("count", [2, 3, 9, 10, 24, 203])
def test_scores_are_cut_into_blocks_of_five_or_more_and_forty_at_most(count):
    scores = np.random.default_rng(count).random(count)
    blocks = {2: 1, 3: 1, 9: 1, 10: 2, 24: 4, 203: 40}[count]
    edges = [count * k // blocks for k in range(blocks + 1)]
    means = np.array([[scores[a:b].mean() for a, b in itertools.pairwise(edges)]])
    noise = np.sqrt(np.mean(np.diff(scores, n=2) ** 2) / 6) if count > 2 else 0.0
    curve = fit_curve(scores)
    assert (curve.visits, curve.noise) == (count, pytest.approx(noise))
    bank = fit_bank(means, np.array([np.diff(edges)]).astype(float), np.array([noise]), np.array([float(count)]))
    np.testing.assert_allclose(curve([1, count, 3 * count]), bank.scores(np.array([[1, count, 3 * count]]))[0])


def test_three_points_stand_for_the_visits_that_chance_gives():
    """A binomial of 100 tosses with p = 0.3: mean 30, variance 21; the outer points are √3 deviations away."""
    curve = fit_curve(0.8 * np.minimum(X / 0.5, 1))
    away = math.sqrt(3 * 21)
    by_hand = 2 / 3 * curve(30) + (curve(30 - away) + curve(30 + away)) / 6
    assert expected_scores(curve, 100, np.array([0.3]))[0] == pytest.approx(float(by_hand))
    by_hand = 2 / 3 * curve(1) + (curve(0) + curve(1 + math.sqrt(3 * 0.99))) / 6  # nobody comes less than never
    assert expected_scores(curve, 100, np.array([0.01]))[0] == pytest.approx(float(by_hand))


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30))
def test_what_must_not_rise_is_made_to_by_isotonic_regression(gains):
    expected = IsotonicRegression(increasing=False).fit_transform(np.arange(len(gains)), gains)
    np.testing.assert_allclose(_falling(np.array(gains)), expected, atol=1e-9)


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 12))
def test_parts_go_one_by_one_to_whom_they_bring_most(seed, count, parts):
    gains = -np.sort(-np.random.default_rng(seed).random((count, parts)), axis=1)
    taken = [0] * count
    for _ in range(parts):
        best = max((k for k in range(count) if taken[k] < parts), key=lambda k: gains[k, taken[k]])
        taken[best] += 1
    np.testing.assert_allclose(shared_out(gains), np.array(taken) / parts)


def test_equals_share_and_what_brings_nothing_is_spread():
    assert shared_out(np.array([[0.4, 0.2, 0.2, 0.0], [0.3, 0.2, 0.0, 0.0]])) == pytest.approx([7 / 12, 5 / 12])
    assert shared_out(np.array([[0.4, 0.0, -0.1, -0.1], [0.0, 0.0, 0.0, 0.0]])) == pytest.approx([0.625, 0.375])
    assert shared_out(np.zeros((2, 4)), lean=np.array([0.2, 0.1])).tolist() == [1.0, 0.0]
    assert shared_out(np.array([[0.3, -0.1, -0.2], [-0.05, -0.3, -0.3]])) == pytest.approx([2 / 3, 1 / 3])
    assert shared_out(np.array([[0.0, 0.6, 0.1], [0.2, 0.2, 0.2]])) == pytest.approx([2 / 3, 1 / 3])
    # A part that opens the way to a better one is worth the mean of both: 0.3, so that both of them are taken.
    assert shared_out(np.array([[0.0, 0.6], [0.2, 0.2]])).tolist() == [1.0, 0.0]
    gains = np.array([[0.0, 0.6], [0.2, 0.2]])
    shared_out(gains, lean=np.ones(2))
    assert gains.tolist() == [[0.0, 0.6], [0.2, 0.2]]


def test_a_history_of_sixty_four_blocks_merges_neighbours():
    values, history = np.random.default_rng(0).random(150), History(["a"])
    for value in values:
        history.add(0, float(value))
    kept = history.state_dict()["a"]  # blocks of four visits: 37 full ones, and two visits
    assert (kept["room"], kept["visits"]) == (4, 150)
    assert kept["sizes"] == [4] * 37 + [2] + [0] * 26
    np.testing.assert_allclose(kept["sums"][:38], [values[start : start + 4].sum() for start in range(0, 150, 4)])
    assert history.noise()[0] == pytest.approx(np.sqrt(np.mean(np.diff(values, n=2) ** 2) / 6))
    # Sixteen bins of 9.375 visits: a block goes where its middle is.
    means, sizes = history._binned(np.array([1.0]), np.array([-2.0]))
    places = np.minimum((np.arange(150) // 4 * 4 + np.where(np.arange(150) < 148, 2, 1)) * 16 // 150, 15)
    assert sizes[0].tolist() == np.bincount(places, minlength=16).tolist()
    np.testing.assert_allclose(means[0], [1 - 2 * values[places == k].mean() for k in range(16)])


def test_scores_that_came_seldom_are_points_on_a_curve():
    visits, scores = np.array([0, 7, 30, 31, 90, 100]), np.array([0.1, 0.2, 0.35, 0.3, 0.6, 0.62])
    history, places = History(["a"]), History(["a"])
    for place, score in zip(visits.tolist(), scores.tolist(), strict=True):
        history.add(0, score)
        places.add(0, float(place))
    bank, unsure = history.fitted(places=places)
    points = fit_points(visits, scores)
    assert unsure[0] == pytest.approx(2 * points.noise / math.sqrt(6))
    np.testing.assert_allclose(bank.scores(np.array([[3.0, 100.0, 300.0]]))[0], points([3, 100, 300]))
    assert points.gain == points(100) - points(0)
    assert fit_points([0, 0, 5], [0.1, 0.2, 0.3]).visits == 5


def test_how_far_somebody_has_fallen_by_hand():
    """Sixteen blocks of ten visits; means of two neighbours rise to 0.75 and end at 0.25."""
    heights = [0.0, 0.0, 0.5, 0.5, 0.75, 0.75, 0.75, 0.75, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25]
    history = History(["a", "b", "c"])
    for height in heights:
        for visit in range(10):
            history.add(0, height)
            history.add(1, height + 0.4 * (-1) ** visit)  # a noise of 0.4 · √(16 / 6): that may be chance
            history.add(2, 0.75 - height)
    assert history.fallen().tolist() == [pytest.approx(0.5), 0.0, 0.0]
    assert history.fallen(1.0, -1.0).tolist() == [0.0, 0.0, pytest.approx(0.5)]
    assert History(["a"]).fallen().tolist() == [0.0]


def test_a_history_knows_who_has_fallen_from_his_best():
    history = History(["steady", "fell", "never rose"])
    rng = np.random.default_rng(0)
    for visit in range(320):
        noise = 0.05 * rng.normal(size=3)
        history.add(0, visit / 320 + noise[0])
        history.add(1, min(visit, 160) / 320 - max(visit - 160, 0) / 640 + noise[1])
        history.add(2, -visit / 640 + noise[2])
    fallen = history.fallen()
    assert fallen.tolist() == [0.0, pytest.approx(0.25, abs=0.06), 0.0]
