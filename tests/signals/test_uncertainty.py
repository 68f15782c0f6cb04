"""Uncertainty of examples and of batches: by enumeration, at its bounds, and next to what others pick."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rota.errors import RotaError
from rota.signals import _batchbald
from rota.signals._batchbald import BatchBALD, batchbald, joint_mutual_information, released_batchbald
from rota.signals._uncertainty import bald, entropy, expected_entropy


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Problems are small: on a busy machine threads that wait for each other take ten times as long."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


# By hand, in plain NumPy.


def entropy_by_hand(p):
    return -sum(float(x) * math.log(x) for x in np.ravel(p) if x > 0)


def joint_entropy_by_hand(p):
    """Of the labels of all examples, over all their configurations."""
    N, K, C = p.shape
    joint = [
        np.mean([math.prod(p[i, k, y[i]] for i in range(N)) for k in range(K)])
        for y in itertools.product(range(C), repeat=N)
    ]
    return entropy_by_hand(joint)


def joint_by_hand(p):
    return joint_entropy_by_hand(p) - sum(np.mean([entropy_by_hand(p_C) for p_C in p_KC]) for p_KC in p)


def greedy_by_hand(p, size):
    picks, scores = [], []
    for _ in range(min(size, len(p))):
        values = [-math.inf if i in picks else joint_by_hand(p[[*picks, i]]) for i in range(len(p))]
        picks.append(next(i for i, value in enumerate(values) if value >= max(values) - 1e-12))
        scores.append(values[picks[-1]])
    return picks, scores


def some(N, K, C, seed=0, noise=1.0):
    """Passes around a mean."""
    rng = np.random.default_rng(seed)
    logits = torch.from_numpy(rng.normal(size=(N, 1, C)) + noise * rng.normal(size=(N, K, C)))
    return logits.softmax(-1)


def binary(noise, seed=0, B=128, K=8):
    one = torch.from_numpy(noise * np.random.default_rng(seed).normal(size=(B, K, 1))).sigmoid()
    return torch.cat([one, 1 - one], -1)


@st.composite
def predictions(draw, most=4):
    """Small whole numbers, normalised: zeros, equal rows and ties come by themselves."""
    N, K, C = draw(st.integers(1, most)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    counts = st.lists(st.integers(0, 4), min_size=C, max_size=C).filter(any)
    rows = draw(st.lists(counts, min_size=N * K, max_size=N * K))
    p = torch.tensor(rows, dtype=torch.float64).view(N, K, C)
    return p / p.sum(-1, keepdim=True)


@pytest.fixture
def tiny_tables(monkeypatch):
    """Small problems are estimated, too."""
    monkeypatch.setattr(_batchbald, "SMALLEST", 1)


# One example.


@given(predictions())
def test_entropies_and_bald_by_hand(p):
    hand = p.numpy()
    assert entropy(p[:, 0]).tolist() == pytest.approx([entropy_by_hand(row[0]) for row in hand], abs=1e-10)
    conditional = [np.mean([entropy_by_hand(p_C) for p_C in p_KC]) for p_KC in hand]
    assert expected_entropy(p).tolist() == pytest.approx(conditional, abs=1e-10)
    assert bald(p).tolist() == pytest.approx([joint_by_hand(p_KC[None]) for p_KC in hand], abs=1e-10)


@given(predictions())
def test_bald_is_within_its_bounds_and_the_joint_of_one_example(p):
    N, K, C = p.shape
    found = bald(p)
    assert (found >= 0).all()
    assert (found <= min(math.log(K), math.log(C)) + 1e-12).all()
    for i in range(N):
        assert joint_mutual_information(p[i : i + 1]).item() == pytest.approx(found[i].item(), abs=1e-12)


def test_where_all_passes_agree_there_is_nothing_to_learn():
    p = some(6, 1, 3)
    agree = p.expand(6, 5, 3)
    assert bald(agree).tolist() == pytest.approx([0] * 6, abs=1e-15)
    assert joint_mutual_information(agree).item() == pytest.approx(0, abs=1e-12)
    assert expected_entropy(agree).tolist() == pytest.approx(entropy(p[:, 0]).tolist())
    for row in some(50, 1, 5).expand(50, 7, 5):  # rounding would go below zero in some
        assert 0 <= batchbald(row[None], 1).scores.item() < 1e-14
        assert 0 <= bald(row[None]).item() < 1e-14


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_any_floats_will_do_and_stay_as_they_were(dtype):
    p = some(20, 6, 3).to(dtype)
    before = p.clone()
    tolerance = {torch.bfloat16: 0.03, torch.float16: 3e-3}.get(dtype, 1e-5)
    assert bald(p).dtype == torch.float64
    assert torch.allclose(bald(p), bald(some(20, 6, 3)), atol=tolerance)
    assert joint_mutual_information(p).item() == pytest.approx(joint_mutual_information(before.double()).item())
    assert batchbald(p, 3).scores.dtype == torch.float64
    assert released_batchbald(p).shape == (10,)
    assert torch.equal(p, before)


@pytest.mark.parametrize(
    "wrong",
    [
        torch.full((3, 2), 0.5),
        torch.full((3, 2, 2, 2), 0.5),
        torch.ones(3, 2, 1, dtype=torch.long),
        torch.ones(3, 0, 1),
        torch.ones(3, 2, 0),
    ],
)
def test_wrong_shapes_are_refused(wrong):
    for function in (bald, expected_entropy, joint_mutual_information, lambda p: batchbald(p, 2), released_batchbald):
        with pytest.raises(RotaError, match=r"shape \[N, K, C\].*Found .*Stack"):
            function(wrong)


def test_wrong_values_are_refused():
    p = some(3, 2, 3)
    for wrong in (p.log(), 2 * p, p - 0.5, p * math.nan, torch.tensor([[[1.5, -0.5]]])):
        with pytest.raises(RotaError, match=r"sum to 1.*Found.*softmax"):
            bald(wrong)
    with pytest.raises(RotaError, match=r"shape \[N, C\]"):
        entropy(p)
    with pytest.raises(RotaError, match="'size' of at least 0"):
        batchbald(p, -1)
    for function in (joint_mutual_information, lambda p, samples: batchbald(p, 2, samples)):
        with pytest.raises(RotaError, match="'samples' of at least 1"):
            function(p, samples=0)
    with pytest.raises(RotaError, match="'num_samples' of at least 0"):
        released_batchbald(p, num_samples=-1)
    with pytest.raises(RotaError, match="'num_draw' of at least 1"):
        released_batchbald(p, num_draw=0)


def test_one_of_everything_is_enough():
    p = some(3, 2, 3)
    assert len(released_batchbald(p, num_draw=1)) == 3
    assert released_batchbald(p, num_samples=0).tolist() == []
    assert joint_mutual_information(p, samples=1).item() == pytest.approx(joint_by_hand(p.numpy()))
    assert batchbald(p, 1, samples=1).indices == [int(bald(p).argmax())]


# Several examples: exact.


@given(predictions())
def test_the_joint_by_hand(p):
    assert joint_mutual_information(p).item() == pytest.approx(joint_by_hand(p.numpy()), abs=1e-10)


@given(predictions(most=6), st.randoms())
def test_the_joint_is_within_its_bounds_and_knows_no_order(p, random):
    N, K, C = p.shape
    found = joint_mutual_information(p).item()
    assert 0 <= found <= min(N * math.log(C), math.log(K)) + 1e-12
    assert found >= bald(p).max() - 1e-12
    assert found <= bald(p).sum() + 1e-12
    examples, passes, classes = (random.sample(range(count), count) for count in p.shape)
    assert joint_mutual_information(p[examples][:, passes][:, :, classes]).item() == pytest.approx(found, abs=1e-12)


@given(predictions(most=5), st.integers(0, 6))
@example(torch.full((4, 3, 2), 0.5, dtype=torch.float64), 4)  # all are equal
@example(torch.eye(3, dtype=torch.float64).expand(4, 3, 3), 3)  # the first says all there is
@settings(max_examples=60)
def test_picks_are_those_of_plain_greedy_search(p, size):
    picks, scores = greedy_by_hand(p.numpy(), size)
    for cheap, finalists in ((10**9, 1), (0, 1), (0, 3)):  # everybody is looked at; hardly anybody
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_batchbald, "CHEAP", cheap)
            patch.setattr(_batchbald, "FINALISTS", finalists)
            found = batchbald(p, size)
        assert found.indices == picks
        assert found.scores.tolist() == pytest.approx(scores, abs=1e-10)


@pytest.mark.parametrize("noise", [0.1, 1.0, 4.0])
def test_who_is_not_looked_at_could_not_have_won(monkeypatch, noise):
    p = some(150, 6, 3, noise=noise)
    looked = []
    real = _batchbald._joint_entropies
    monkeypatch.setattr(_batchbald, "_joint_entropies", lambda P, p: (looked.append(len(P) * len(p)), real(P, p))[1])
    monkeypatch.setattr(_batchbald, "CHEAP", 0)
    lazy, few = batchbald(p, 7), sum(looked)
    looked.clear()
    monkeypatch.setattr(_batchbald, "CHEAP", 10**9)
    eager, all_of_them = batchbald(p, 7), sum(looked)
    assert lazy.indices == eager.indices
    assert lazy.scores.tolist() == pytest.approx(eager.scores.tolist(), abs=1e-12)
    assert few < all_of_them / (2 if noise <= 1 else 1)  # with much noise a few picks say all, and the rest is a tie


def test_blocks_do_not_matter(monkeypatch):
    p = some(50, 5, 3)
    whole = batchbald(p, 5)
    monkeypatch.setattr(_batchbald, "BLOCK", 1)
    assert batchbald(p, 5).indices == whole.indices


def test_scores_are_the_joints_of_the_picks_and_never_fall():
    p = some(40, 6, 3)
    batch = batchbald(p, 8)
    for count in range(1, 9):
        joint = joint_mutual_information(p[batch.indices[:count]])
        assert batch.scores[count - 1].item() == pytest.approx(joint.item(), abs=1e-10)
    assert (batch.scores.diff() >= 0).all()
    assert batch.scores[0] == pytest.approx(bald(p).max().item())
    assert batch.scores[-1] <= math.log(6)
    assert batchbald(p, 3).indices == batch.indices[:3]


def test_ties_go_to_the_lowest_index():
    p = some(5, 4, 3)
    copies = p.repeat(4, 1, 1)
    picks = batchbald(copies, 5).indices
    assert picks == greedy_by_hand(copies.numpy(), 5)[0]
    assert all(pick - 5 in picks[:place] for place, pick in enumerate(picks) if pick >= 5)
    assert batchbald(torch.full((30, 4, 3), 1 / 3), 6) == BatchBALD(
        [0, 1, 2, 3, 4, 5], pytest.approx([0] * 6, abs=1e-12)
    )


def test_a_batch_is_no_larger_than_what_there_is():
    p = some(4, 5, 2)
    batch = batchbald(p, 10)
    assert sorted(batch.indices) == [0, 1, 2, 3]
    assert batch.scores[-1].item() == pytest.approx(joint_mutual_information(p).item())
    assert batchbald(p, 0) == ([], pytest.approx([]))
    assert batchbald(p[:0], 3) == ([], pytest.approx([]))
    assert joint_mutual_information(p[:0]).item() == 0.0
    assert bald(p[:0]).shape == (0,)


@pytest.mark.parametrize(("K", "C"), [(1, 3), (4, 1), (1, 1)])
def test_one_pass_or_one_class_says_nothing(K, C):
    p = some(200, K, C)
    assert bald(p).tolist() == pytest.approx([0] * 200, abs=1e-15)
    assert joint_mutual_information(p).item() == 0.0
    batch = batchbald(p, 100)
    assert batch.indices == list(range(100))
    assert batch.scores.tolist() == [0.0] * 100


# What others pick: batchbald-redux 2.0.5 with 10,000 samples, which is exact here, gave these picks and last scores;
# baal 2.1.0 with 40,000 draws (20,000 for the last one), two seeds, gave the same picks.

GOLDEN = [
    ((30, 8, 2, 8, 1.0), [15, 0, 18, 16, 2, 19, 17, 1], 1.217847933564),
    ((25, 10, 10, 4, 1.0), [18, 16, 0, 17], 1.609573319565),
    ((60, 10, 3, 8, 0.5), [15, 2, 0, 35, 34, 32, 52, 16], 0.867150559606),
    ((200, 5, 4, 6, 0.7), [15, 119, 152, 188, 118, 52], 1.250311702456),
]


def by_formula(N, K, C, noise):
    n, k, c = (torch.arange(count, dtype=torch.float64) for count in (N, K, C))
    n, k = n[:, None, None], k[:, None]
    shared = 1.5 * torch.sin(1.7 * n + 2.3 * c * (1 + n % 3))
    own = (1.2 + torch.cos(0.37 * n)) * torch.sin(2.1 * n + (1 + n % 7) * 1.3 * k + 0.9 * c * k + 0.7 * c)
    return (shared + noise * own).softmax(-1)


@pytest.mark.parametrize(("problem", "picks", "score"), GOLDEN)
def test_picks_are_those_of_others(problem, picks, score):
    N, K, C, size, noise = problem
    batch = batchbald(by_formula(N, K, C, noise), size)
    assert batch.indices == picks
    assert batch.scores[-1].item() == pytest.approx(score, abs=1e-9)


# Several examples: estimated.


@pytest.mark.parametrize("noise", [0.02, 0.3, 2.0])
def test_an_estimate_is_near_the_truth(tiny_tables, noise):
    p = some(6, 5, 3, noise=noise)
    exact = joint_by_hand(p.numpy())
    estimates = [joint_mutual_information(p, 500, torch.Generator().manual_seed(seed)).item() for seed in range(40)]
    error = np.std(estimates, ddof=1)
    assert 0 < error < 0.1 * exact
    assert np.mean(estimates) == pytest.approx(exact, abs=4 * error / math.sqrt(40))


def test_estimates_repeat_themselves_unless_told_otherwise():
    p = some(60, 5, 3)
    assert joint_mutual_information(p) == joint_mutual_information(p)
    other = torch.Generator().manual_seed(1)
    assert joint_mutual_information(p) != joint_mutual_information(p, generator=other)
    assert joint_mutual_information(p, generator=other) != joint_mutual_information(p, generator=other)
    first, second = batchbald(p, 12, 300), batchbald(p, 12, 300)
    assert first.indices == second.indices
    assert first.scores.tolist() == second.scores.tolist()
    assert torch.equal(released_batchbald(p), released_batchbald(p))


def test_exact_up_to_the_limit():
    p = some(13, 3, 2)
    for count, samples, exact in ((12, 1, True), (13, 1, False), (13, 2**13, True)):
        seeds = [torch.Generator().manual_seed(seed) for seed in (1, 2)]
        one, two = (joint_mutual_information(p[:count], samples, seed).item() for seed in seeds)
        assert (one == two) == exact


def test_many_examples_neither_underflow_nor_pass_the_bound():
    """H(y) by the mean of -log p(y) over 160,000 draws, in plain NumPy, less all conditional entropies: 0.128 ± 0.001,
    0.925 ± 0.002, 2.07 ± 0.01. The last of them is nearly log 8."""
    found = [joint_mutual_information(binary(noise)).item() for noise in (0.1, 0.3, 1.0, 10.0)]
    assert found == pytest.approx([0.128, 0.925, 2.07, math.log(8)], abs=0.02)
    assert max(found) <= math.log(8)


@given(predictions(most=5), st.integers(1, 40))
@settings(max_examples=50)
def test_estimates_are_within_the_bounds(p, samples):
    N, K, C = p.shape
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_batchbald, "SMALLEST", 1)
        assert 0 <= joint_mutual_information(p, samples).item() <= min(N * math.log(C), math.log(K)) + 1e-12
        batch = batchbald(p, N, samples)
        released = released_batchbald(p, num_draw=samples)
    assert sorted(batch.indices) == list(range(N))
    assert (batch.scores.diff() >= 0).all()
    assert 0 <= batch.scores[-1] <= math.log(K)
    assert released.isfinite().all()


def test_estimated_picks_are_those_of_looking_at_everybody(monkeypatch):
    p = some(80, 6, 3, noise=0.7)
    monkeypatch.setattr(_batchbald, "SMALLEST", 30)  # exact up to three picks
    found = []
    for cheap in (0, 10**9):
        monkeypatch.setattr(_batchbald, "CHEAP", cheap)
        found.append(batchbald(p, 9, samples=600))
    assert found[0].indices == found[1].indices
    assert found[0].scores.tolist() == pytest.approx(found[1].scores.tolist(), abs=1e-12)
    exact = joint_by_hand(p[found[0].indices[:6]].numpy())
    assert found[0].scores[5].item() == pytest.approx(exact, abs=0.02)
    assert found[0].scores[:4].tolist() == pytest.approx(
        greedy_by_hand(p.numpy(), 2)[1] + found[1].scores[2:4].tolist()
    )


# The released code of the paper.


def test_released_numbers_hardly_depend_on_what_there_is_to_learn():
    """Measured with the released class: 3.13 at noise 0.3, 3.12 at a fifteenth of it; the mutual information of the
    same ten examples falls from 0.21 to 0.001."""
    ceiling = math.log(2) * sum(range(10)) / 10
    for noise, mean, information in ((0.3, 3.13, 0.21), (0.02, 3.12, 0.001)):
        p = binary(noise)
        found = released_batchbald(p)
        assert found.shape == (10,)
        assert found[0] == bald(p).max()
        assert found.mean().item() == pytest.approx(mean, abs=0.01)
        assert found.mean().item() == pytest.approx(ceiling, abs=0.03)
        assert batchbald(p, 10).scores[-1].item() == pytest.approx(information, rel=0.25)


def test_released_numbers_leave_out_the_conditional_entropies_of_earlier_picks():
    p = some(6, 4, 2)
    found = released_batchbald(p, num_samples=3, num_draw=50_000).tolist()
    picks, scores = greedy_by_hand(p.numpy(), 3)
    conditional = expected_entropy(p[picks])
    for count in range(3):
        left_out = conditional[:count].sum().item()
        assert found[count] == pytest.approx(scores[count] + left_out, abs=0.005)
        joint = joint_entropy_by_hand(p[picks[: count + 1]].numpy())
        assert found[count] == pytest.approx(joint - conditional[count].item(), abs=0.005)


@pytest.mark.parametrize("B", [0, 1, 2, 9, 10, 11])
def test_released_numbers_of_small_mini_batches(B):
    found = released_batchbald(binary(0.3, B=B))
    assert found.shape == (min(B, 10),)
    assert (found >= 0).all()
