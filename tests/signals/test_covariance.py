"""Covariance similarity: by hand, by another route, and what must not change it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rota.errors import RotaError
from rota.signals import covariance_similarity, mean_similarity


def some_features(seed, rows=(7, 30, 4), d=6):
    """Tasks with directions of very different weight; the last has fewer rows than directions."""
    rng = np.random.default_rng(seed)
    weights = 10.0 ** -np.arange(d)
    return {
        name: torch.from_numpy(rng.normal(size=(m, d)) * rng.permutation(weights))
        for name, m in zip("abc", rows, strict=True)
    }


def by_singular_vectors(X, Y, of):
    """The same from the singular values of the features, which never forms a covariance."""

    def directions(Z):
        _, s, vectors = np.linalg.svd(Z.numpy(), full_matrices=False)
        weights = s if of == "singular" else s**2
        r = next(r for r in range(1, len(s) + 1) if weights[:r].sum() >= 0.99 * weights.sum())
        return s[:r] ** 2, vectors[:r]

    (d, u), (e, v) = directions(X), directions(Y)
    product = sum(d[k] * e[m] * (u[k] @ v[m]) ** 2 for k in range(len(d)) for m in range(len(e)))
    return math.sqrt(product / (d.sum() * e.sum()))


def assert_close(one, other):
    for task, row in one.items():
        assert row == pytest.approx(other[task], abs=1e-9)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_features_of_any_magnitude_have_squares(scale):
    features = some_features(0)
    assert_close(covariance_similarity({**features, "a": scale * features["a"]}), covariance_similarity(features))


def test_two_small_tasks_by_hand():
    # C_a = diag(4, 1), A_a = diag(2, 1); C_b is all ones, A_b = (1, 1): A_aᵀ A_b = (2, 1).
    table = covariance_similarity({"a": torch.diag(torch.tensor([2.0, 1.0])), "b": torch.ones(1, 2)})
    assert table["a"]["b"] == pytest.approx(math.sqrt(5) / (math.sqrt(5) * math.sqrt(2)))
    assert table["a"]["a"] == pytest.approx(math.sqrt(17) / 5)  # ‖D‖_F / tr D
    assert table["b"]["b"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("eigenvalues", "of", "kept"),
    [
        ([99.0, 1.0], "eigenvalues", [99.0]),  # just enough
        ([98.9, 1.1], "eigenvalues", [98.9, 1.1]),
        ([99.0, 1.0], "singular", [99.0, 1.0]),  # √99 / (√99 + 1) = 0.909
        ([99.0**2, 1.0], "singular", [99.0**2]),
        ([90.0, 9.5, 0.5], "eigenvalues", [90.0, 9.5]),
    ],
)
def test_directions_are_kept_up_to_99_percent(eigenvalues, of, kept):
    X = torch.tensor(eigenvalues, dtype=torch.float64).sqrt().diag()
    table = covariance_similarity({"a": X}, of=of)
    assert table["a"]["a"] == pytest.approx(np.linalg.norm(kept) / np.sum(kept), rel=1e-12)


@given(st.integers(0, 10_000), st.sampled_from(["eigenvalues", "singular"]))
def test_it_is_what_singular_vectors_say(seed, of):
    features = some_features(seed)
    table = covariance_similarity(features, of=of)
    expected = {a: {b: by_singular_vectors(X, Y, of) for b, Y in features.items()} for a, X in features.items()}
    assert_close(table, expected)


@given(st.integers(0, 10_000))
def test_it_is_symmetric_and_at_most_one(seed):
    table = covariance_similarity(some_features(seed))
    for task, row in table.items():
        for other, value in row.items():
            assert value == pytest.approx(table[other][task], abs=1e-12)
            assert 0 < value <= 1 + 1e-12


@given(st.integers(0, 10_000))
def test_rotation_scale_and_order_of_rows_do_not_matter(seed):
    features = some_features(seed)
    table = covariance_similarity(features)
    rotation = torch.linalg.qr(torch.randn(6, 6, generator=torch.Generator().manual_seed(seed)).double())[0]
    assert_close(table, covariance_similarity({task: X @ rotation for task, X in features.items()}))
    assert_close(
        table, covariance_similarity({task: 10.0 ** (40 * k) * X for k, (task, X) in enumerate(features.items())})
    )
    assert_close(table, covariance_similarity({task: X.flip(0) for task, X in features.items()}))
    assert_close(table, covariance_similarity({task: torch.cat([X, X]) for task, X in features.items()}))


def test_orthogonal_tasks_have_nothing_in_common():
    table = covariance_similarity({"a": torch.tensor([[1.0, 0.0]]), "b": torch.tensor([[0.0, 2.0], [0.0, 1.0]])})
    assert table["a"]["b"] == pytest.approx(0.0, abs=1e-12)


def test_the_mean_leaves_the_task_itself_out():
    table = covariance_similarity(some_features(0))
    means = mean_similarity(table)
    assert means["a"] == pytest.approx((table["a"]["b"] + table["a"]["c"]) / 2)
    assert list(means) == ["a", "b", "c"]
    with pytest.raises(RotaError, match="at least two tasks"):
        mean_similarity({"a": {"a": 1.0}})


def test_half_precision_and_gradients_are_taken():
    X = torch.tensor([[2.0, 0.0], [0.0, 1.0]], requires_grad=True)
    assert covariance_similarity({"a": X})["a"]["a"] == pytest.approx(math.sqrt(17) / 5)
    assert covariance_similarity({"a": X.half()})["a"]["a"] == pytest.approx(math.sqrt(17) / 5)


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ({"a": torch.ones(2, 3, 4)}, r"shape \[rows, d\].*Found torch.float32 of shape \[2, 3, 4\] for task 'a'"),
        ({"a": torch.ones(2, 3, dtype=torch.int64)}, "as floats.*torch.int64"),
        ({"a": torch.ones(0, 3)}, r"at least one of each.*\[0, 3\]"),
        ({"a": torch.zeros(2, 3)}, "not all 0"),
        ({"a": torch.tensor([[1.0, math.nan]])}, "that are numbers"),
        ({"a": torch.ones(2, 3), "b": torch.ones(2, 4)}, "one width d.*{'a': 3, 'b': 4}"),
    ],
)
def test_wrong_features_are_refused(features, said):
    with pytest.raises(RotaError, match=said):
        covariance_similarity(features)


def test_an_unknown_rule_is_refused():
    with pytest.raises(RotaError, match=r"'eigenvalues' or 'singular'.*Found 'trace'"):
        covariance_similarity({"a": torch.ones(1, 1)}, of="trace")
