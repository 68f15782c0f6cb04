"""ADO: its fit against SciPy's, its shares against a slow loop, and both ways to count samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from rota.errors import RotaError
from rota.feedback import Feedback
from rota.methods import METHODS, RunContext
from rota.policies import ADO
from rota.policies._power_law import DELTA, PowerLaw, fit_power_law

CONTEXT = RunContext({"a": 100, "b": 900}, {"a": 4, "b": 29}, steps=2000, seed=0)


def huber(law, log_seen, losses):
    a, alpha, offset = law
    error = np.abs(np.log(losses) - np.log(np.exp(a - alpha * log_seen) + offset))
    return float(np.where(error > DELTA, DELTA * (error - DELTA / 2), error**2 / 2).sum())


@settings(max_examples=25, deadline=None)
@given(a=st.floats(-1.5, 2), alpha=st.floats(0.05, 0.75), offset=st.floats(0.05, 2.0))
def test_a_law_without_noise_is_found_again(a, alpha, offset):
    log_seen = np.log(np.arange(4.0, 4000.0, 60.0))
    losses = np.exp(a - alpha * log_seen) + offset
    found = fit_power_law(log_seen, losses, np.ones_like(losses))
    predicted = np.exp(found.a - found.alpha * log_seen) + found.offset
    np.testing.assert_allclose(predicted, losses, rtol=2e-3)


@pytest.mark.parametrize("seed", range(6))
def test_no_solver_of_scipy_finds_a_better_law(seed):
    """From many starts, with its own method and the same bounds."""
    rng = np.random.default_rng(seed)
    log_seen = np.log(np.arange(10.0, 2000.0, 35.0))
    truth = rng.uniform([-0.5, 0.1, 0.1], [1.5, 0.7, 1.0])
    losses = (np.exp(truth[0] - truth[1] * log_seen) + truth[2]) * np.exp(0.05 * rng.normal(size=len(log_seen)))
    found = fit_power_law(log_seen, losses, np.ones_like(losses))
    best = min(
        optimize.minimize(
            lambda x: 1e4 * huber((x[0], x[1], math.exp(x[2])), log_seen, losses),
            start,
            method="Nelder-Mead",
            bounds=[(-10, 6.5), (0.001, 0.8), (math.log(1e-6), 3)],
            options={"maxiter": 4000, "xatol": 1e-7, "fatol": 1e-9},
        ).fun
        for start in [(0.0, 0.3, -1.0), (1.0, 0.6, 0.0), (0.5, 0.1, -3.0), (truth[0], truth[1], math.log(truth[2]))]
    )
    assert 1e4 * huber(found, log_seen, losses) <= best * 1.01 + 1e-9


def test_bounds_of_the_law_hold():
    log_seen = np.log(np.arange(1.0, 60.0))
    steep = fit_power_law(log_seen, 3 * np.exp(-1.5 * log_seen) + 0.01, np.ones(59))
    assert steep.alpha <= 0.8
    rising = fit_power_law(log_seen, 1 + 0.01 * np.arange(59), np.ones(59))
    assert rising.alpha >= 0.001
    bounded = fit_power_law(log_seen, np.exp(-0.5 * log_seen) + 0.1, np.ones(59), least_offset=0.2)
    assert bounded.offset >= 0.2 - 1e-12
    assert fit_power_law(log_seen, np.zeros(59), np.ones(59)).loss(60.0) < 1e-4


def test_the_speed_is_the_derivative():
    law = PowerLaw(a=0.7, alpha=0.4, offset=0.3)
    assert law.speed(50.0) == pytest.approx((law.loss(49.999) - law.loss(50.001)) / 0.002, rel=1e-6)
    flat = PowerLaw(a=0.7, alpha=0.01, offset=0.3)
    assert flat.speed(50.0, 0.05) == pytest.approx(5 * flat.speed(50.0))


def test_shares_by_hand():
    """α = ½, .25; L - E = .2, .1 at D = 100, 50: v = .001, .0005. μ = (¼, ¾), h = (¼, ¾), s = ½: weights
    .25 · .5 · .001 and .75 · √.75 · .0005."""
    policy = ADO(["a", "b"], {"a": 1, "b": 3}, warmup=1000, floor=0.0)
    policy.counts[:] = 100, 49
    policy.laws[:] = [math.log(0.2 * 100**0.5), 0.5, 0.1], [math.log(0.1 * 50**0.25), 0.25, 0.4]
    policy.fitted[:] = 1
    policy.observe(Feedback("b", 0.5))
    a, b = 0.25 * 0.5 * 0.001, 0.75 * math.sqrt(0.75) * 0.0005
    now = a / (a + b)
    assert policy.probabilities(0)[0] == pytest.approx(0.9 * 0.25 + 0.1 * now)
    assert policy.average[0] == pytest.approx((0.25 + now) / 2)


def slow_shares(policy, told):
    """One dictionary for each number; laws as the policy has fitted them."""
    tasks, counts = policy.tasks, dict.fromkeys(policy.tasks, 0)
    prior = dict(zip(tasks, policy.prior.tolist(), strict=True))
    history, average, share, found = dict(prior), [dict(prior)], dict(prior), []
    for heard, (task, laws) in enumerate(told, start=1):
        counts[task] += 1
        history = {name: 0.9 * history[name] + 0.1 * share[name] for name in tasks}
        if laws is not None:
            weights = {}
            for name in tasks:
                a, alpha, offset = laws[name]
                seen = counts[name] if policy.counting == "own" else heard
                loss = math.exp(a) / seen**alpha + offset
                speed = max(alpha, 0.05) * (loss - offset) / seen
                weights[name] = prior[name] * history[name] ** 0.5 * speed
            now = {name: max(weights[name] / sum(weights.values()), 0.01) for name in tasks}
            now = {name: now[name] / sum(now.values()) for name in tasks}
            mean = {name: sum(own[name] for own in average) / len(average) for name in tasks}
            share = {name: 0.9 * mean[name] + 0.1 * now[name] for name in tasks}
            average.append(now)
        found.append([share[name] for name in tasks])
    return found


@pytest.mark.parametrize("counting", ["own", "all"])
def test_shares_are_those_of_the_slow_loop(counting):
    rng, tasks = np.random.default_rng(2), ["a", "b", "c"]
    policy = ADO(tasks, {"a": 1, "b": 2, "c": 5}, counting=counting, warmup=90, every=60)
    told, found = [], []
    for step in range(400):
        task = tasks[int(rng.choice(3, p=[0.5, 0.3, 0.2]))]
        rate = {"a": 0.6, "b": 0.3, "c": 0.05}[task]
        policy.observe(Feedback(task, 0.3 + 2 / (1 + step) ** rate + 0.02 * rng.random(), 0.3, step))
        told.append((task, {name: policy.law(name) for name in tasks} if policy.fitted.all() else None))
        found.append(policy.probabilities(step))
    assert policy.fitted.all()
    np.testing.assert_allclose(found, slow_shares(policy, told), rtol=1e-9)


def test_the_two_countings_are_different_methods():
    """A rare source has seen few samples of its own: a further one teaches more than a further step does."""
    shares = {}
    for counting in ("own", "all"):
        policy = ADO(["rare", "common"], counting=counting, warmup=400, every=400)
        for step in range(400):
            task = "rare" if step % 10 == 0 else "common"
            own = step // 10 + 1 if task == "rare" else step - step // 10 + 1
            policy.observe(Feedback(task, 0.2 + 2 / (own if counting == "own" else step + 1) ** 0.5, step=step))
        for step in range(400, 500):
            policy.observe(Feedback("common", 0.3, step=step))
        shares[counting] = policy.shares(500)["rare"]
    assert shares["own"] > 0.6 > shares["all"]


def test_until_the_first_fit_and_without_enough_losses_the_prior_holds():
    policy = ADO(["a", "b"], {"a": 1, "b": 3}, warmup=100)
    for step in range(99):
        policy.observe(Feedback("a", 1 / (1 + step), step=step))
        assert policy.probabilities(step).tolist() == [0.25, 0.75]
    assert policy.law("a") is None
    policy.observe(Feedback("a", 0.01, step=99))
    assert policy.law("a") is not None
    assert policy.law("b") is None
    assert policy.probabilities(100)[1] == pytest.approx(0.75)


def test_its_memory_does_not_grow_with_the_losses():
    policy = ADO(["a", "b"], warmup=100, every=10_000)
    sizes = []
    for step in range(4000):
        policy.observe(Feedback("ab"[step % 2], 1.0 + 1 / (1 + step), step=step))
        if step in (1999, 3999):
            sizes.append(len(str(policy.state_dict())))
    assert sizes[1] < 1.1 * sizes[0]


def test_short_runs_have_short_warmups():
    policy = METHODS["ado"].make({}, CONTEXT).policy
    assert (policy.warmup, policy.every) == (100, 100)
    assert policy.probabilities(0).tolist() == [0.1, 0.9]
    assert ADO(["a"]).warmup == 1000
    assert METHODS["ado"].make({"warmup": 7, "counting": "all"}, CONTEXT).policy.warmup == 7


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ADO(["a"], counting="tokens"), "Unknown counting 'tokens'"),
        (lambda: ADO(["a"], warmup=0), "warmup of one loss or more"),
        (lambda: ADO(["a"], every=0), "every of one loss or more"),
        (lambda: ADO(["a"], floor=1), r"a floor in \[0, 1\)"),
        (lambda: ADO(["a"], power=-1), "a power and a least_loss of 0 or more"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(make, sentence):
    with pytest.raises(RotaError, match=sentence):
        make()
