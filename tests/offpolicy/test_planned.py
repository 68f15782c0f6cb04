"""Plans from one log: better than uniform in environments of the MTL bandit, and the same for rewards of any scale."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rota.errors import RotaError
from rota.offpolicy import Log, best_mixture, planned, read_logs
from rota.offpolicy._planned import _scores
from rota.simulation import MTLBandit

ARMS, STEPS = 8, 2000


def play(bandit, mixture, seed, noise=0.0):
    """The mean score at the end, and the log: 1 - score where it is better than at the arm's last pull."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(ARMS, STEPS, p=mixture)
    last, rewards = np.full(ARMS, -np.inf), np.zeros(STEPS)
    bandit.reset()
    for step, k in enumerate(chosen.tolist()):
        score = bandit.pull(k).after + noise * rng.normal()
        rewards[step] = 1 - score if score > last[k] else 0.0
        last[k] = score
    return bandit.scores.mean(), Log(bandit.tasks, chosen, mixture[chosen], np.maximum(rewards, 0.0))


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_plan_beats_a_uniform_mixture(noise):
    uniform, gains, oracles = np.full(ARMS, 1 / ARMS), [], []
    for seed in range(6):
        bandit = MTLBandit(ARMS, STEPS, seed=500 + seed)
        base, log = play(bandit, uniform, seed, noise)
        plan = planned(log)
        assert plan.predicted_gain > 0
        gains.append(play(bandit, plan.mixture.probabilities(0), 100 + seed)[0] - base)
        oracles.append(play(bandit, bandit.oracle.probabilities(0), 100 + seed)[0] - base)
    assert min(gains) > 0
    assert np.mean(gains) > 0.8 * np.mean(oracles)


def test_scores_are_rebuilt_from_rewards_by_hand():
    """1 less a reward, in units of 4; without one a score stays, and before the first it is 0. Of two runs the mean, as
    far as both of them go."""
    rewards = np.array([0.0, 3.0, 9.0, 0.0, 1.0, 2.0, 0.0, 0.0, 9.0])
    log = Log(("a", "b", "c"), np.array([0, 0, 2, 0, 0, 0, 0, 1, 2]), np.full(9, 0.3), rewards)
    assert _scores(log, 0, 4.0).tolist() == [0.0, 0.25, 0.25, 0.75, 0.5, 0.5]
    with pytest.raises(RotaError, match="Found 1 of 'b'"):
        _scores(log, 1, 4.0)
    runs = Log(("a",), np.zeros(8, dtype=int), np.full(8, 0.5), np.array([2.0, 0, 0, 4, 1, 0, 0, 0]), (0, 5))
    assert _scores(runs, 0, 4.0).tolist() == [0.25, 0.25, 0.25]
    first = Log(("a",), np.zeros(4, dtype=int), np.full(4, 0.5), np.array([2.0, 0, 0, 4]))
    assert _scores(first, 0, 4.0).tolist() == [0.5, 0.5, 0.5, 0.0]


@pytest.mark.parametrize(("noise", "caution"), [(0.0, 0.0), (0.2, 0.2)])
def test_noisy_scores_keep_a_fifth_of_what_was_logged(monkeypatch, noise, caution):
    rng = np.random.default_rng(0)
    chosen = np.arange(1200) % 2
    scores = np.where(chosen == 0, 0.9 * (1 - np.exp(-np.arange(1200) / 900)), 0.5) + noise * rng.normal(size=1200)
    log = Log(("a", "b"), chosen, np.full(1200, 0.5), np.clip(1 - scores, 0.01, None))
    careful = planned(log).mixture.probabilities(0)
    monkeypatch.setattr("rota.offpolicy._planned.CAUTION", 0.0)
    bold = planned(log).mixture.probabilities(0)
    assert bold[0] > 0.6
    assert careful == pytest.approx((1 - caution) * bold + caution * 0.5, abs=1e-3)


def test_a_predicted_gain_is_nearly_the_true_one():
    for seed in range(3):
        bandit = MTLBandit(ARMS, STEPS, seed=500 + seed)
        base, log = play(bandit, np.full(ARMS, 1 / ARMS), seed)
        plan = planned(log)
        gain = play(bandit, plan.mixture.probabilities(0), 100 + seed)[0] - base
        assert plan.predicted_gain == pytest.approx(gain, abs=0.03)


def test_the_scale_of_rewards_does_not_matter():
    bandit = MTLBandit(ARMS, STEPS, seed=7)
    _, log = play(bandit, np.full(ARMS, 1 / ARMS), 0)
    plan = planned(log)
    for factor in (0.1, 30.0):
        scaled = planned(Log(log.tasks, log.chosen, log.probabilities, factor * log.rewards))
        assert np.abs(scaled.mixture.probabilities(0) - plan.mixture.probabilities(0)).max() < 1e-9
        assert scaled.entropy == pytest.approx(factor * plan.entropy)
    assert best_mixture(log).probabilities(0).tolist() == plan.mixture.probabilities(0).tolist()


def test_auxiliary_tasks_keep_their_share_and_the_rest_is_planned_as_if_alone():
    bandit = MTLBandit(ARMS, STEPS, seed=9)
    _, log = play(bandit, np.full(ARMS, 1 / ARMS), 0)
    helpers = frozenset(bandit.tasks[:2])
    found = planned(dataclasses.replace(log, auxiliary=helpers)).mixture.probabilities(0)
    assert found[:2] == pytest.approx([1 / ARMS, 1 / ARMS])
    assert found.sum() == pytest.approx(1)
    own = log.chosen >= 2
    rest = Log(log.tasks[2:], log.chosen[own] - 2, log.probabilities[own], log.rewards[own])
    alone = planned(rest, steps=int(own.sum())).mixture.probabilities(0)
    assert found[2:] / found[2:].sum() == pytest.approx(alone, abs=0.01)
    with pytest.raises(RotaError, match="only auxiliary ones"):
        planned(dataclasses.replace(log, auxiliary=frozenset(bandit.tasks)))


def test_a_second_plan_starts_from_the_first():
    """Where a good mixture was logged, the next plan does not fall back to a uniform one."""
    gains = []
    for seed in range(4):
        bandit = MTLBandit(ARMS, STEPS, seed=600 + seed)
        base, log = play(bandit, np.full(ARMS, 1 / ARMS), seed)
        first, second = play(bandit, planned(log).mixture.probabilities(0), 100 + seed)
        third = play(bandit, planned(second).mixture.probabilities(0), 200 + seed)[0]
        gains.append((first - base, third - base))
    once, twice = np.mean(gains, axis=0)
    assert twice > once - 0.005


def test_runs_are_planned_together_visit_by_visit():
    """Two runs one after the other are not one run in which everything is forgotten in the middle."""
    bandit = MTLBandit(ARMS, STEPS, seed=8)
    logs = [play(bandit, np.full(ARMS, 1 / ARMS), seed)[1] for seed in range(2)]
    both = Log(
        bandit.tasks,
        *(np.concatenate([getattr(log, name) for log in logs]) for name in ("chosen", "probabilities", "rewards")),
        starts=(0, STEPS),
    )
    together, alone = planned(both), planned(logs[0])
    difference = together.mixture.probabilities(0) - alone.mixture.probabilities(0)
    assert np.abs(difference).max() < 0.05
    assert together.curves.keys() == alone.curves.keys()


def test_several_folders_remember_where_runs_begin(tmp_path):
    import json

    task = {"rows": {"train": 5}, "unit": 1.0}
    helps = {**task, "auxiliary": True}
    for name, steps, tasks in (
        ("one", 6, {"a": task, "b": helps}),
        ("two", 4, {"b": task, "a": task}),
        ("three", 2, {"b": task, "a": helps, "c": {**task, "rows": {}}}),
    ):
        (tmp_path / name).mkdir()
        info = {"schema": 1, "id": name, "plan": {}, "tasks": tasks}
        from rota.runlog import SCHEMA

        (tmp_path / name / "run.json").write_text(json.dumps({**info, "schema": SCHEMA}))
        lines = [
            {
                "kind": "step",
                "step": k,
                "task": "ab"[k % 2],
                "probability": 0.5,
                "round": None,
                "loss": 1.0,
                "value": 0.5,
            }
            for k in range(steps)
        ]
        (tmp_path / name / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    log = read_logs([tmp_path / "one", tmp_path / "two", tmp_path / "three"], lambda visit: visit.value)
    assert log.starts == (0, 6, 10)
    assert [len(chosen) for chosen, _ in log.runs()] == [6, 4, 2]
    assert (log.tasks, log.auxiliary) == (("a", "b"), {"b"})  # as the first run has them
    assert log.chosen.tolist() == [0, 1] * 6
