"""The MTL bandit follows its definition."""

from __future__ import annotations

import numpy as np
import pytest

from rota.errors import RotaError
from rota.policies import Exp3S, uniform
from rota.simulation import MTLBandit, Pull, log_gain, play, score_gain


def test_an_environment_is_drawn_as_defined():
    bandit = MTLBandit(arms=8, steps=1000, seed=3)
    mixture = np.array(list(bandit.oracle.mixture.values()))
    assert mixture.sum() == pytest.approx(1)
    assert ((bandit.best >= 0.5) & (bandit.best <= 1)).all()
    np.testing.assert_allclose(bandit.gains, bandit.best / (1000 * mixture))
    assert ((bandit.losses >= 0) & (bandit.losses <= 0.01 * bandit.gains)).all()
    again = MTLBandit(arms=8, steps=1000, seed=3)
    np.testing.assert_array_equal(bandit.gains, again.gains)
    assert not np.array_equal(bandit.gains, MTLBandit(arms=8, steps=1000, seed=4).gains)


def test_a_pull_gains_then_everybody_forgets():
    bandit = MTLBandit(arms=2, steps=10, seed=0)
    bandit.best[:], bandit.gains[:], bandit.losses[:] = [0.5, 0.8], [0.3, 0.1], [0.01, 0.02]
    assert bandit.pull(0) == pytest.approx((0.0, 0.29))
    np.testing.assert_allclose(bandit.scores, [0.29, 0.0])  # nobody falls below zero
    assert bandit.pull(0) == pytest.approx((0.29, 0.49))  # capped at its best, then forgets
    assert bandit.pull(1) == pytest.approx((0.0, 0.08))


def test_pulled_as_often_as_the_oracle_says_and_without_forgetting_every_arm_reaches_its_best():
    bandit = MTLBandit(arms=5, steps=10_000, seed=1)
    bandit.losses[:] = 0
    for k, share in enumerate(bandit.oracle.mixture.values()):
        for _ in range(int(np.ceil(10_000 * share))):
            bandit.pull(k)
    np.testing.assert_allclose(bandit.scores, bandit.best)


def test_play_is_reproducible_and_complete():
    bandit = MTLBandit(arms=4, steps=300, seed=0)
    one = play(bandit, Exp3S(bandit.tasks), seed=5)
    two = play(bandit, Exp3S(bandit.tasks), seed=5)
    for name in ("tasks", "probabilities", "values", "mean_scores"):
        assert len(getattr(one, name)) == 300
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.final == one.mean_scores[-1] == pytest.approx(bandit.scores.mean())


def test_the_oracle_beats_the_random_policy():
    for seed in range(5):
        bandit = MTLBandit(arms=8, steps=2000, seed=seed)
        assert play(bandit, bandit.oracle).final > play(bandit, uniform(bandit.tasks)).final


def test_signals_of_a_pull():
    assert score_gain(Pull(0.2, 0.5)) == pytest.approx(0.3)
    assert log_gain(Pull(0.25, 0.5)) == pytest.approx(np.log(2))
    assert log_gain(Pull(0.0, 0.001)) == 0.0  # scores below a thousandth count as one


def test_wrong_arguments_are_refused():
    with pytest.raises(RotaError, match="one arm and one step"):
        MTLBandit(arms=0)
    with pytest.raises(RotaError, match="play expects a policy over arm0"):
        play(MTLBandit(arms=2, steps=5), uniform(["a", "b"]))
