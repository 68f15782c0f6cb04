"""Learning curves: known shapes are found again, and budgets go where they bring most."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rota.curves import History, expected_scores, filled, fit_curve, fit_points
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
