"""Mixtures that play side by side, the logs they leave, and what is learned from them."""

from __future__ import annotations

import numpy as np
import pytest

from rota.errors import RotaError
from rota.offpolicy import best_mixture
from rota.policies import Exp3S, Fixed, uniform
from rota.seeds import integer
from rota.simulation import (
    RULES,
    WORTHS,
    MTLBandit,
    Play,
    Rule,
    best_static,
    improve_by_rounds,
    logged,
    play,
    play_together,
    study,
)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_games_side_by_side_are_the_games_one_after_the_other(noise):
    bandit = MTLBandit(arms=5, steps=400, seed=2)
    skewed = Fixed(dict(zip(bandit.tasks, (5, 1, 0, 2, 2), strict=True)))
    games = [(uniform(bandit.tasks), 0), (skewed, 0), (skewed, 7)]
    for (mixture, seed), found in zip(games, play_together(bandit, games, noise), strict=True):
        alone = play(bandit, mixture, seed, signal=lambda pull: pull.after, noise=noise)
        np.testing.assert_array_equal(found.tasks, alone.tasks)
        np.testing.assert_array_equal(found.probabilities, alone.probabilities)
        np.testing.assert_allclose(found.values, alone.values, rtol=0, atol=1e-15)
        np.testing.assert_allclose(found.mean_scores, alone.mean_scores, rtol=0, atol=1e-15)


def test_noise_is_the_same_before_and_after_an_update():
    bandit = MTLBandit(arms=2, steps=200, seed=0)
    quiet = play(bandit, uniform(bandit.tasks), signal=lambda pull: pull.after - pull.before)
    noisy = play(bandit, uniform(bandit.tasks), signal=lambda pull: pull.after - pull.before, noise=0.5)
    np.testing.assert_allclose(noisy.values, quiet.values, atol=1e-12)
    shown = play(bandit, uniform(bandit.tasks), signal=lambda pull: pull.after, noise=0.5).values
    true = play(bandit, uniform(bandit.tasks), signal=lambda pull: pull.after).values
    assert (shown - true).std() == pytest.approx(0.5, rel=0.2)


def test_mixtures_over_other_tasks_are_refused():
    with pytest.raises(RotaError, match="mixtures over arm0, arm1, in this order"):
        play_together(MTLBandit(arms=2, steps=5), [(Fixed({"arm1": 1, "arm0": 1}), 0)])


def test_rewards_of_a_log_by_hand():
    bandit = MTLBandit(arms=2, steps=6, seed=0)
    game = Play(np.array([0, 1, 0, 0, 1, 0]), np.full(6, 0.5), np.array([0.2, 0.9, 0.5, 0.4, 1.1, 0.6]), np.zeros(6))
    found = logged(bandit, game)
    assert found.chosen.tolist() == [0, 0, 1, 0]  # without the first pull of each arm
    # Better, worse, better but nothing is missing any more, better.
    assert found.rewards == pytest.approx([0.5, 0.0, 0.0, 0.4])
    assert logged(bandit, game, WORTHS["0.1 (1 - s)"]).rewards == pytest.approx([0.05, 0.0, 0.0, 0.04])
    expected = [1 - np.exp(-0.5), 0.0, 0.0, 1 - np.exp(-0.4)]
    assert logged(bandit, game, WORTHS["1 - exp(s - 1)"]).rewards == pytest.approx(expected)


def test_the_best_static_mixture_beats_the_oracle_and_random_ones():
    bandit, seeds = MTLBandit(arms=4, steps=2000, seed=11), range(8)

    def final(mixture):
        return np.mean([game.final for game in play_together(bandit, [(mixture, seed) for seed in seeds])])

    best = final(best_static(bandit))
    assert best > final(uniform(bandit.tasks))
    assert best > final(bandit.oracle) - 0.005
    rng = np.random.default_rng(0)
    others = rng.dirichlet(np.full(4, 4.0), 60) * 0.5 + 0.5 * bandit.oracle.probabilities(0)
    assert best > max(final(Fixed(dict(zip(bandit.tasks, own, strict=True)))) for own in others) - 0.005


def test_rounds_learn_from_the_log_before():
    bandit, seeds = MTLBandit(arms=4, steps=1500, seed=3), [0, 1]
    logs = play_together(bandit, [(uniform(bandit.tasks), seed) for seed in seeds])
    found = improve_by_rounds(bandit, seeds, logs)
    assert list(found) == RULES
    rule = Rule("1 - s", 0.5)
    for before, after in ((logs, found[rule][0]), (found[rule][0], found[rule][1])):
        for log, game in zip(before, after, strict=True):
            mixture = best_mixture(logged(bandit, log), 0.5, optimiser="softmax").probabilities(0)
            np.testing.assert_array_equal(game.probabilities, mixture[game.tasks])
    scaled = [game.final for game in found[Rule("0.1 (1 - s)", "auto")][0]]
    assert scaled == pytest.approx([game.final for game in found[Rule("1 - s", "auto")][0]], abs=0.01)


def test_a_study_has_everybody_at_every_seed():
    bandit = MTLBandit(arms=3, steps=300, seed=0)
    found = study(bandit, {"exp3s": lambda seed: Exp3S(bandit.tasks, seed=seed)}, range(2), rounds=1)
    assert list(found.curves) == ["uniform", "exp3s", "counterfactual", "best static", "oracle"]
    assert found.steps[-1] == 300
    for name, scores in found.curves.items():
        assert scores.shape == (2, len(found.steps)), name
    assert found.finals("uniform").tolist() == [play(bandit, uniform(bandit.tasks), seed).final for seed in range(2)]
    assert found.rounds[Rule("1 - s", "auto")][0].tolist() == found.finals("counterfactual").tolist()


def test_the_printed_policy_searches_twice_with_its_own_weight_of_the_entropy():
    """λ = 0.2, 20 iterations of 64, two rounds, by hand."""
    bandit, seeds = MTLBandit(arms=3, steps=400, seed=1), [0, 1]
    found = study(bandit, {}, seeds, printed=2).finals("counterfactual@bandit")
    for place, seed in enumerate(seeds):
        [game] = play_together(bandit, [(uniform(bandit.tasks), seed)])
        for number in range(2):
            learned = best_mixture(logged(bandit, game), 0.2, iterations=20, population=64)
            [game] = play_together(bandit, [(learned, integer(seed, "round", number))])
        assert game.final == found[place]
