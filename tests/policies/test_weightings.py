"""Weights of losses in joint training: golden numbers, and torch's own gradients and optimizers as an oracle."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rota.errors import RotaError
from rota.feedback import Feedback
from rota.methods import METHODS, RunContext
from rota.policies import DWA, FAMO, RLW, UW, UWSO
from rota.policies._adam import adam
from rota.policies._joint_losses import LEAST_WEIGHT

TASKS = ["a", "b", "c"]
CONTEXT = RunContext({"a": 100, "b": 900}, {"a": 4, "b": 29}, steps=100, seed=0)


def tell(policy, *rounds):
    for losses in rounds:
        for task, loss in zip(policy.tasks, losses, strict=True):
            policy.observe(Feedback(task, float(loss)))
    return policy


def some_losses(count, seed=0):
    rng = np.random.default_rng(seed)
    falling = np.exp(-np.outer(np.arange(count), [0.002, 0.01, 0.03])) * [2.0, 1.0, 0.5]
    return falling * rng.uniform(0.8, 1.2, (count, 3))


def test_adam_is_that_of_torch():
    rng, x = np.random.default_rng(0), torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([x], lr=0.03, weight_decay=0.1)
    own, first, second = x.detach().numpy().copy(), np.zeros(3), np.zeros(3)
    for t in range(1, 200):
        gradient = rng.normal(size=3) * 10 ** rng.normal(size=3)
        x.grad = torch.from_numpy(gradient)
        optimizer.step()
        own, first, second = adam(own, gradient, first, second, t, 0.03, 0.1)
        np.testing.assert_allclose(own, x.detach().numpy(), rtol=1e-9)


def test_famo_is_its_slow_loop_in_torch():
    """The mean of log D and its gradient, δ of successive losses, and w by torch's Adam."""
    w = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    optimizer, before = torch.optim.Adam([w], lr=0.025, weight_decay=0.01), None
    policy, least = FAMO(TASKS, weight_decay=0.01, least={"b": 0.01}), torch.tensor([0.0, 0.01, 0.0]).double()
    for losses in some_losses(300):
        above = torch.from_numpy(losses) - least
        if before is not None:
            w.grad = torch.autograd.grad(torch.softmax(w, 0), w, before.log() - above.log())[0]
            optimizer.step()
        before = above
        tell(policy, losses)
        L = torch.from_numpy(losses).requires_grad_()
        z = torch.softmax(w.detach(), 0)
        D = L - least
        slopes = torch.autograd.grad((z * D.log()).sum() / (z / D).detach().sum(), L)[0]
        np.testing.assert_allclose(policy.probabilities(0), slopes.numpy(), rtol=1e-7)
        assert float(slopes.sum()) == pytest.approx(1.0)


def test_a_step_of_famo_by_hand():
    """z = ½, ½; δ = log 2, 0; the gradient is ±log 2 / 4, and the first step of Adam is lr whatever its size."""
    policy = tell(FAMO(["a", "b"], lr=0.1, weight_decay=0.0), [1.0, 1.0], [0.5, 1.0])
    assert policy.weights.tolist() == pytest.approx([-0.1, 0.1])
    z = math.exp(-0.1) / (math.exp(-0.1) + math.exp(0.1))
    assert policy.probabilities(0)[0] == pytest.approx((z / 0.5) / (z / 0.5 + (1 - z) / 1.0))


def test_famo_makes_up_for_the_scale_of_a_loss():
    """Before the first step of w, a loss that is a hundred times as large has a hundredth of the weight."""
    assert tell(FAMO(["a", "b"]), [100.0, 1.0]).probabilities(0) == pytest.approx([1 / 101, 100 / 101])


@pytest.mark.parametrize("rule", ["adam", "sgd"])
def test_uw_is_its_loss_in_torch(rule):
    s = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([s], lr=0.05) if rule == "adam" else torch.optim.SGD([s], lr=0.05)
    policy = UW(TASKS, rule=rule, lr=0.05)
    for losses in some_losses(200):
        L = torch.from_numpy(losses)
        optimizer.zero_grad()
        (L * torch.exp(-s) / 2 + s / 2).sum().backward()
        optimizer.step()
        tell(policy, losses)
        weights = torch.softmax(-s.detach(), 0).numpy()
        np.testing.assert_allclose(policy.probabilities(0), weights, rtol=1e-9)


def test_learned_variances_end_at_the_losses_and_the_optimal_ones_begin_there():
    losses = [0.9, 0.3, 0.1]
    optimal = tell(UW(TASKS, rule="optimal"), losses)
    np.testing.assert_allclose(np.exp(optimal.log_variances), losses)
    inverse = 1 / np.array(losses)
    np.testing.assert_allclose(optimal.probabilities(0), inverse / inverse.sum())
    learned = tell(UW(TASKS, lr=0.02), *[losses] * 2000)
    np.testing.assert_allclose(learned.probabilities(0), optimal.probabilities(0), rtol=1e-3)


def test_uw_of_losses_of_zero_or_below_stays_a_number():
    policy = tell(UW(["a", "b"], rule="sgd", lr=1.0), *[[0.0, -5.0]] * 500)
    assert policy.log_variances.tolist() == [-20.0, -20.0]
    assert policy.probabilities(0).tolist() == [0.5, 0.5]


def test_uw_so_by_hand():
    """1 / L = 2, 4, 5 over T = 2."""
    weights = np.exp([1.0, 2.0, 2.5])
    policy = tell(UWSO(TASKS, tau=2.0), [0.5, 0.25, 0.2])
    np.testing.assert_allclose(policy.probabilities(0), weights / weights.sum())


def test_dwa_by_hand():
    """Periods of two steps: means 2 and 1 (ratio ½), 1 and .9 (ratio .9), 3 and 3 (ratio 1), over T = 2."""
    policy = tell(DWA(TASKS, every=2), [1.0, 1.1, 3.0], [3.0, 0.9, 3.0], [1.0, 0.9, 3.0])
    assert policy.probabilities(0).tolist() == pytest.approx([1 / 3] * 3)  # one period alone has no ratio
    tell(policy, [1.0, 0.9, 3.0])
    weights = np.exp([0.25, 0.45, 0.5])
    np.testing.assert_allclose(policy.probabilities(0), weights / weights.sum())


def test_random_weights_follow_from_the_seed_the_step_and_the_names():
    policy = RLW(TASKS, seed=7)
    assert policy.shares(5) == pytest.approx(RLW(["c", "a", "b"], seed=7).shares(5))
    assert policy.shares(5) != policy.shares(6) != RLW(TASKS, seed=8).shares(6)
    assert policy.hears == ()


def test_random_weights_are_distributed_as_they_say():
    normal = np.array([RLW(["a", "b"]).probabilities(step) for step in range(2000)])
    assert stats.kstest(np.log(normal[:, 0] / normal[:, 1]) / math.sqrt(2), "norm").pvalue > 1e-3
    flat = np.array([RLW(TASKS, "dirichlet").probabilities(step) for step in range(2000)])
    for column in flat.T:  # the marginal of a uniform mixture of three
        assert stats.kstest(column, "beta", (1, 2)).pvalue > 1e-3
    assert abs(np.corrcoef(flat[1:, 0], flat[:-1, 0])[0, 1]) < 0.1


@given(st.lists(st.lists(st.floats(-1e308, 1e308), min_size=3, max_size=3), max_size=5))
def test_no_weight_ever_becomes_zero(rounds):
    """A task of weight zero would be left out of the joint step, and never heard again."""
    for make in (DWA, FAMO, UW, UWSO):
        found = tell(make(TASKS), *rounds).probabilities(0)
        assert found.min() >= LEAST_WEIGHT / 2
        assert found.sum() == pytest.approx(1.0)


def test_losses_count_once_all_tasks_were_heard():
    policy = UWSO(["a", "b"])
    for task, loss in [("a", 1.0), ("a", 3.0)]:
        policy.observe(Feedback(task, loss, probability=0.5))
    assert policy.probabilities(0).tolist() == [0.5, 0.5]
    policy.observe(Feedback("b", 1.0, probability=0.5))
    weights = np.exp([0.5, 1.0])
    np.testing.assert_allclose(policy.probabilities(0), weights / weights.sum())


def test_newcomers_begin_with_the_mean_of_the_others():
    for make, attribute in ((UW, "log_variances"), (UWSO, "inverses"), (FAMO, "weights")):
        old, new = tell(make(["a", "b"]), [0.5, 2.0], [0.4, 1.9]), make(["c", "b", "a"])
        new.take_over(old)
        found = getattr(new, attribute)
        assert found[0] == pytest.approx(found[1:].mean())


def test_weightings_are_methods_with_joint_steps():
    for name in ("dwa", "rlw", "uw", "uw-so", "famo"):
        recipe = METHODS[name].make({}, CONTEXT)
        assert recipe.stream == "joint"
        assert not recipe.policy.counts_draws
    assert METHODS["dwa"].make({}, CONTEXT).policy.every == 5
    assert METHODS["dwa"].make({"every": 7}, CONTEXT).policy.every == 7
    assert METHODS["rlw"].make({}, CONTEXT).policy.shares(0) != METHODS["rlw"].make(
        {}, RunContext(CONTEXT.sizes, CONTEXT.batches, steps=100, seed=1)
    ).policy.shares(0)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: DWA(["a"], every=0), "periods of one step or more"),
        (lambda: DWA(["a"], tau=0), "tau above 0"),
        (lambda: RLW(["a"], "cauchy"), "Unknown distribution 'cauchy'"),
        (lambda: UW(["a"], rule="best"), "Unknown rule 'best'"),
        (lambda: UW(["a"], lr=0), "lr above 0"),
        (lambda: UWSO(["a"], tau=0), "tau above 0"),
        (lambda: FAMO(["a"], lr=0), "FAMO expects lr"),
        (lambda: FAMO(["a"], weight_decay=-1), "FAMO expects weight_decay"),
        (lambda: FAMO(["a"], least={"b": 0.0}), "Unknown task in the lower bounds 'b'"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(make, sentence):
    with pytest.raises(RotaError, match=sentence):
        make()
