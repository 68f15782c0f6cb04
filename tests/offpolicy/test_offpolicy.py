"""Off-policy estimates: against slow loops, in simulation, and refusals."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.errors import RotaError
from rota.offpolicy import ESTIMATORS, Log, Visit, _mixture, as_log, best_mixture, heard, improving, read_logs, value
from rota.offpolicy._planned import _tilted, softmax_of
from rota.policies import Cycle, Exp3S, Hold, uniform
from rota.settings import Settings

NAMES = ("a", "b", "c")


def draws(seed, steps=400, logging=(0.5, 0.3, 0.2), means=(0.2, 0.5, 0.8)):
    """A log of a fixed policy, with rewards 0 or 1."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(3, steps, p=logging)
    rewards = (rng.random(steps) < np.array(means)[chosen]).astype(float)
    return [NAMES[k] for k in chosen], np.array(logging)[chosen], rewards


def slow_value(tasks, probabilities, rewards, mixture, estimator):
    """Every estimator by its definition, one decision after the other."""
    total = sum(mixture.values())
    q = {task: mixture.get(task, 0) / total for task in set(tasks)}
    steps = list(zip(tasks, probabilities, rewards, strict=True))
    n = len(steps)
    if estimator == "is":
        return sum(q[k] / p * r for k, p, r in steps) / n
    if estimator == "wis":
        return sum(q[k] / p * r for k, p, r in steps) / sum(q[k] / p for k, p, _ in steps)
    if estimator == "clipped":
        return sum(min(q[k] / p, 10.0) * r for k, p, r in steps) / n
    model = {}
    for task in q:
        own = [(p, r) for k, p, r in steps if k == task]
        model[task] = sum(r / p for p, r in own) / sum(1 / p for p, _ in own)
    return sum(q[k] * model[k] for k in q) + sum(q[k] / p * (r - model[k]) for k, p, r in steps) / n


@given(st.integers(0, 10_000), st.tuples(*[st.floats(0.01, 1)] * 3), st.sampled_from(list(ESTIMATORS)))
def test_estimators_are_their_definitions(seed, weights, estimator):
    rng = np.random.default_rng(seed)
    tasks = [*NAMES, *(NAMES[k] for k in rng.integers(3, size=30))]
    probabilities, rewards = rng.uniform(0.02, 0.99, 33), rng.normal(size=33)
    mixture = dict(zip(NAMES, weights, strict=True))
    found = value((tasks, probabilities, rewards), mixture, estimator)
    assert found.value == pytest.approx(slow_value(tasks, probabilities, rewards, mixture, estimator), abs=1e-9)
    w = np.array([mixture[k] for k in tasks]) / sum(weights) / probabilities
    assert found.effective_sample_size == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert 1 <= found.effective_sample_size <= 33 + 1e-9


def test_the_logging_policy_gets_its_mean_reward_by_wis():
    tasks, probabilities, rewards = draws(0)
    log = (tasks, probabilities, rewards)
    found = value(log, dict(zip(NAMES, (0.5, 0.3, 0.2), strict=True)))
    assert found.value == pytest.approx(rewards.mean(), abs=1e-12)
    assert found.effective_sample_size == pytest.approx(400)
    assert found.stderr == pytest.approx(rewards.std() / math.sqrt(400))


def test_errors_by_hand():
    """w = q / π = 2 q: of a 1.5, of b 0.5; so w r = 1.5 · 2, 0.5 · 1, 0.5 · 3."""
    log = ["a", "b", "b"], [0.5, 0.5, 0.5], [2.0, 1.0, 3.0]
    found = value(log, {"a": 3, "b": 1}, "is")
    terms = np.array([3.0, 0.5, 1.5])
    assert found.value == pytest.approx(terms.sum() / 3)
    assert found.stderr == pytest.approx(math.sqrt(((terms - terms.mean()) ** 2).sum() / 2 / 3))
    assert found.interval(1.0) == pytest.approx((found.value - found.stderr, found.value + found.stderr))
    wide = found.interval()
    assert wide[1] - wide[0] == pytest.approx(2 * 1.96 * found.stderr)
    # By wis: 5 / 2.5 = 2; the errors of the terms are 1.5 · 0, 0.5 · 1, 0.5 · 1.
    assert value(log, {"a": 3, "b": 1}).value == 2.0
    assert value(log, {"a": 3, "b": 1}).stderr == pytest.approx(math.sqrt(0.5) / 2.5)


def test_one_decision_says_nothing_about_its_error():
    assert math.isnan(value((["a"], [0.5], [1.0]), {"a": 1}, "is").stderr)
    assert not math.isnan(value((["a", "a"], [0.5, 0.5], [1.0, 1.0]), {"a": 1}, "is").stderr)


@given(st.floats(0.05, 1))
def test_wis_does_not_care_about_a_common_factor_of_the_probabilities(factor):
    tasks, probabilities, rewards = draws(1)
    mixture = {"a": 1, "b": 2, "c": 3}
    plain, scaled = (value((tasks, probabilities * f, rewards), mixture) for f in (1.0, factor))
    assert scaled.value == pytest.approx(plain.value, abs=1e-12)
    assert scaled.stderr == pytest.approx(plain.stderr, abs=1e-12)


@pytest.mark.parametrize("estimator", ["wis", "dr", "is"])
def test_intervals_cover_the_truth(estimator):
    """95 of 100 times, measured on 500 logs: 90 to 99."""
    mixture, truth = {"a": 0.1, "b": 0.3, "c": 0.6}, 0.1 * 0.2 + 0.3 * 0.5 + 0.6 * 0.8
    intervals = [value(draws(seed), mixture, estimator).interval() for seed in range(500)]
    covered = np.mean([low <= truth <= high for low, high in intervals])
    assert 0.90 <= covered <= 0.99


def test_doubly_robust_and_wis_are_less_noisy_than_is():
    mixture = {"a": 0.1, "b": 0.3, "c": 0.6}
    spread = {
        name: np.std([value(draws(seed), mixture, name).value for seed in range(200)]) for name in ("is", "wis", "dr")
    }
    assert spread["wis"] < 0.9 * spread["is"]
    assert spread["dr"] < 0.9 * spread["is"]


# Rewards


def test_the_reward_is_large_for_tasks_that_are_bad_and_get_better():
    assert improving(Visit(0.7, None, None)) is None
    assert improving(Visit(0.7, None, 0.7)) == 0.0
    assert improving(Visit(0.7, None, 0.6)) == 0.0
    assert improving(Visit(0.7, None, 0.8)) == pytest.approx(1 - math.exp(-0.7))
    assert heard(Visit(0.7, 0.25, None)) == 0.25


# Mixtures


@pytest.mark.parametrize("entropy", [0.1, 0.2, 0.5, 1.0])
def test_cma_es_finds_the_closed_form(entropy):
    rng = np.random.default_rng(0)
    means = rng.uniform(0, 0.6, 8)
    tasks = np.repeat([f"t{k}" for k in range(8)], 50)
    log = (tasks, np.full(400, 1 / 8), np.repeat(means, 50))  # as often as their probabilities say
    exact = best_mixture(log, entropy, optimiser="softmax").probabilities(0)
    assert exact == pytest.approx(np.exp(means / entropy) / np.exp(means / entropy).sum())
    found = best_mixture(log, entropy).probabilities(0)
    assert np.abs(found - exact).max() < 0.02


def test_without_entropy_the_best_task_gets_everything():
    log = as_log(draws(0))
    assert best_mixture(log, 0.0, optimiser="softmax").probabilities(0).tolist() == [0, 0, 1]
    assert best_mixture(log, 0.0).probabilities(0)[2] > 0.99
    assert best_mixture(log, 1e6, optimiser="softmax").probabilities(0) == pytest.approx(1 / 3, abs=1e-5)


def test_the_search_tries_as_many_mixtures_as_the_paper(monkeypatch):
    tried, real = [], _mixture._entropy
    monkeypatch.setattr(_mixture, "_entropy", lambda q: (tried.append(q), real(q))[1])
    best_mixture(draws(0), 0.2)
    assert len(tried) == 50 * 64
    assert tried[0] == pytest.approx(1 / 3, abs=0.3)
    tried.clear()
    best_mixture(draws(0), 0.2, iterations=3, population=5)
    assert len(tried) == 15


@pytest.mark.parametrize("estimator", list(ESTIMATORS))
def test_the_search_finds_the_best_mixture_of_every_estimator(estimator):
    """Against a grid over all mixtures of three tasks, each valued by its definition."""
    tasks, probabilities, rewards = draws(2, steps=60, logging=(0.8, 0.15, 0.05))
    best = max(
        (
            slow_value(tasks, probabilities, rewards, dict(zip(NAMES, q, strict=True)), estimator)
            - 0.3 * sum(share * math.log(share) for share in q)
        )
        for q in ((a / 20, b / 20, (20 - a - b) / 20) for a in range(1, 19) for b in range(1, 20 - a))
    )
    found = best_mixture((tasks, probabilities, rewards), 0.3, estimator=estimator).mixture
    worth = slow_value(tasks, probabilities, rewards, found, estimator)
    assert worth - 0.3 * sum(share * math.log(share) for share in found.values()) >= best - 1e-9


def test_estimators_without_a_closed_form_or_a_name_are_refused():
    assert best_mixture(draws(0), 0.5, optimiser="softmax", estimator="dr").mixture == pytest.approx(
        best_mixture(draws(0), 0.5, estimator="dr").mixture, abs=0.01
    )
    with pytest.raises(RotaError, match="an estimator that it is the optimum of"):
        best_mixture(draws(0), 0.5, optimiser="softmax", estimator="clipped")
    with pytest.raises(RotaError, match="Unknown estimator 'wsi'"):
        best_mixture(draws(0), 0.5, estimator="wsi")


def test_small_weights_of_the_entropy_do_not_overflow():
    means = np.array([0.0, 1.0, 0.5])
    assert softmax_of(means, 1e-4).tolist() == [0, 1, 0]
    assert _tilted(np.array([0.2, 0.2, 0.6]), means, 1e-4).tolist() == [0, 1, 0]
    # By hand: 0.2 · 1, 0.2 · 4, 0.6 · 2
    assert _tilted(np.array([0.2, 0.2, 0.6]), means, 1 / math.log(4)) == pytest.approx(np.array([0.2, 0.8, 1.2]) / 2.2)


def test_the_search_does_not_depend_on_anything_but_its_seed():
    log = as_log(draws(0))
    one, other = (best_mixture(log, 0.2, iterations=5, seed=3).probabilities(0) for _ in range(2))
    assert one.tolist() == other.tolist()
    assert best_mixture((["a"] * 3, [1.0] * 3, [0.5] * 3), 0.2).probabilities(0).tolist() == [1.0]


# Runs


@pytest.fixture
def run(tmp_path):
    """Trains on three tiny tasks; returns the folder."""
    torch = pytest.importorskip("torch")

    from rota.models import MultiTaskModel, SmallConv
    from rota.tasks import Classification, Regression, Task, TensorRows
    from rota.training import fit

    def make(name, policy, kind=None, listen=None, stream=None):
        torch.manual_seed(0)
        kinds = {"a": Classification(2), "b": Classification(2), "c": kind or Classification(2)}
        images = torch.rand(24, 1, 4, 4)
        tasks = []
        for task, own in kinds.items():
            labels = torch.rand(24) if isinstance(own, Regression) else torch.arange(24) % 2
            rows = TensorRows({"image": images}, labels)
            tasks.append(Task(task, own, {"train": rows, "dev": rows}))
        model = MultiTaskModel(SmallConv(4, width=4), tasks)
        settings = Settings(steps=30, batch_size=8, eval_every=30, lr=0.01)
        options = {} if stream is None else {"stream": stream}
        fit(model, tasks, policy, tmp_path / name, settings, listen=listen, progress=False, **options)
        return tmp_path / name

    return make


def test_a_run_is_a_log(run):
    folder = run("r", uniform(NAMES))
    log = read_logs([folder])
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    steps = [line for line in lines if line["kind"] == "step"]
    last, rewards = {}, []
    for line in steps:
        if line["task"] in last:
            better = line["loss"] < last[line["task"]]
            rewards.append((line["task"], 1 - math.exp(-line["loss"]) if better else 0.0))
        last[line["task"]] = line["loss"]
    assert [log.tasks[k] for k in log.chosen] == [task for task, _ in rewards]
    assert log.rewards == pytest.approx([reward for _, reward in rewards])
    assert log.probabilities == pytest.approx(1 / 3)
    both = read_logs([folder, folder])
    assert len(both) == 2 * len(log)
    assert value(both, {"a": 1, "b": 2, "c": 1}).value == pytest.approx(value(folder, {"a": 1, "b": 2, "c": 1}).value)


def test_a_regression_counts_in_units_of_its_scale(run):
    from rota.tasks import Regression

    rewards = {}
    for scale in (0.5, 1.0):
        folder = run(f"s{scale}", uniform(NAMES), kind=Regression(scale))
        log = read_logs([folder])
        rewards[scale] = log.rewards[log.chosen == 2]
    # The same losses L: 1 - exp(-L / (2 scale²)).
    assert -np.log1p(-rewards[0.5]) == pytest.approx(-4 * np.log1p(-rewards[1.0]))


def test_rounds_that_one_draw_decided_are_one_decision(run):
    folder = run("held", Hold(uniform(NAMES), 5))
    log = read_logs([folder])
    assert len(log) == 6
    steps = read_logs([folder], lambda visit: 1.0)
    assert steps.rewards.tolist() == [1.0] * 6


def test_counting_the_steps_of_a_round_one_by_one_is_too_sure():
    """Rewards of a round go together: as steps, they would make the interval miss the truth far too often."""
    mixture, truth = {"a": 0.1, "b": 0.3, "c": 0.6}, 0.1 * 0.2 + 0.3 * 0.5 + 0.6 * 0.8
    missed = {"rounds": 0, "steps": 0}
    for seed in range(200):
        tasks, probabilities, rewards = draws(seed, steps=80)
        for name, times in (("rounds", 1), ("steps", 10)):
            log = (np.repeat(tasks, times), np.repeat(probabilities, times), np.repeat(rewards, times))
            low, high = value(log, mixture).interval()
            missed[name] += not low <= truth <= high
    assert missed["rounds"] < 25
    assert missed["steps"] > 75


def test_what_was_heard_can_be_the_reward(run):
    from rota.signals import prediction_gain

    folder = run("heard", Exp3S(NAMES), listen=prediction_gain)
    log = read_logs([folder], heard)
    assert len(log) == 30
    assert (log.rewards != 0).any()


# Refusals


@pytest.mark.parametrize(
    ("log", "mixture", "sentence"),
    [
        ((["a", "b"], [0.5, 0.0], [1, 1]), {"a": 1}, "Found 0.0 for task 'b'"),
        ((["a", "b"], [0.5, 1.5], [1, 1]), {"a": 1}, "Found 1.5 for task 'b'"),
        ((["a", "b"], [0.5, 1.0], [1, 1]), {"a": 1}, "task 'b' chosen with certainty"),
        ((["a", "b", "c"], [0.5, 1.0, 1.0], [1, 1, 1]), {"a": 1}, "task 'b' chosen with certainty"),
        ((["a", "b", "c"], [0.5, -1.0, 2.0], [1, 1, 1]), {"a": 1}, "Found -1.0 for task 'b'"),
        ((["a", "b", "c"], [0.5, 0.5, 0.5], [1, math.inf, math.nan]), {"a": 1}, "Found others for task 'b'"),
        ((["a", "b"], [0.5, 0.5], [1, math.nan]), {"a": 1}, "Found others for task 'b'"),
        ((["a", "b"], [0.5, 0.5], [1]), {"a": 1}, "three arrays of one length"),
        (([], [], []), {"a": 1}, "Found none with a reward"),
        ((["a", "b"], [0.5, 0.5], [1, 1]), {"x": 1}, "x"),
        ((["a", "b"], [0.5, 0.5], [1, 1]), {"a": -1}, "at least 0 for task 'a'"),
        ((["a", "b"], [0.5, 0.5], [1, 1]), {"a": 0}, "a weight above 0"),
    ],
)
def test_what_cannot_be_estimated_is_refused_by_name(log, mixture, sentence):
    with pytest.raises(RotaError, match=sentence):
        value(log, mixture)


def test_a_task_that_was_never_tried_is_refused_by_name():
    log = Log(("a", "b"), np.array([0, 0]), np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    assert value(log, {"a": 1}).value == 0.5
    assert value(log, {"a": 1}, "dr").value == 0.5
    with pytest.raises(RotaError, match="none for 'b'"):
        value(log, {"a": 1, "b": 1})
    with pytest.raises(RotaError, match="none for 'b'"):
        best_mixture(log, 0.2)
    with pytest.raises(RotaError, match="none for 'b'"):
        best_mixture(log)


def test_schedules_joint_steps_and_other_tasks_are_refused(run, tmp_path):
    from rota.streams import JointStream

    with pytest.raises(RotaError, match="chosen with certainty"):
        read_logs([run("cycle", Cycle({"a": 1, "b": 1, "c": 2}))])
    with pytest.raises(RotaError, match="one task per step"):
        read_logs([run("joint", uniform(NAMES), stream=JointStream)])
    with pytest.raises(RotaError, match="at least one run folder"):
        read_logs([])
    with pytest.raises(RotaError, match="estimator"):
        value((["a", "b"], [0.5, 0.5], [1, 1]), {"a": 1}, "wiss")
    with pytest.raises(RotaError, match="at least 0"):
        best_mixture((["a", "b"], [0.5, 0.5], [1, 1]), -1.0)
    with pytest.raises(RotaError, match="no task got better"):
        best_mixture((["a", "b"] * 9, [0.5] * 18, [0.0] * 18))
    with pytest.raises(RotaError, match="1 of 'b'"):
        best_mixture((["a", "a", "b"], [0.5] * 3, [0.5] * 3))


def test_the_mixture_of_a_log_is_what_was_drawn_from():
    rng = np.random.default_rng(0)
    p = np.array([0.5, 0.3, 0.2])
    chosen = rng.choice(3, 200, p=p)
    log = Log(("a", "b", "c"), chosen, p[chosen], np.zeros(200))
    assert list(log.mixture.values()) == pytest.approx(p.tolist())
    # A policy that changes its mind: its mean over the steps, nearly.
    moving = np.linspace([0.8, 0.1, 0.1], [0.1, 0.1, 0.8], 20_000)
    chosen = (rng.random(20_000)[:, None] > moving.cumsum(axis=1)).sum(axis=1)
    log = Log(("a", "b", "c"), chosen, moving[np.arange(20_000), chosen], np.zeros(20_000))
    assert list(log.mixture.values()) == pytest.approx(moving.mean(axis=0).tolist(), abs=0.02)
    never = Log(("a", "b"), np.zeros(5, dtype=int), np.full(5, 0.5), np.zeros(5))
    assert never.mixture == {"a": 1.0, "b": 0.0}
