"""EDM: each term by hand, all of them by another route, and what must not change them."""

from __future__ import annotations

import math
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.data import Difficulty, difficulty
from rota.errors import RotaError

# Class 0 says red 2, cat 2, dog 1; class 1 says the 1, red 1, birds 1.
TEXTS = ["Red cat, red dog.", "The red bird's!", "cat"]
LABELS = [0, 1, 0]


def by_arrays(texts, labels):
    """The same with a matrix of counts, for texts in lower case without punctuation and stop words."""
    vocabulary = sorted({word for text in texts for word in text.split()})
    classes = sorted(set(labels))
    counts = np.zeros((len(classes), len(vocabulary)))
    for text, label in zip(texts, labels, strict=True):
        for word in text.split():
            counts[classes.index(label), vocabulary.index(word)] += 1
    shares = np.array([np.mean(np.array(labels) == label) for label in classes])
    p = counts / counts.sum(1, keepdims=True)
    coefficients = np.sqrt(p) @ np.sqrt(p).T  # Bhattacharyya: 1 - distance²
    nearest = min(sqrt(max(1 - coefficients[i, j], 0)) for i in range(len(classes)) for j in range(i))
    top = np.zeros_like(counts)
    for row, own in zip(top, counts, strict=True):
        kept = sorted(range(len(own)), key=lambda k: (-own[k], vocabulary[k]))[:10]
        row[kept] = own[kept]
    q = top / top.sum(1, keepdims=True)
    matrix = np.zeros((len(classes), len(classes)))
    for i in range(len(classes)):
        for j in range(len(classes)):
            both = (top[i] > 0) & (top[j] > 0)
            pooled = ((top[i] + top[j]) / (top[i] + top[j]).sum())[both]
            one, other = q[i][both], q[j][both]
            matrix[i, j] = -(one * np.log(one)).sum() if i == j else (pooled * np.log(pooled / one / other)).sum()
    return Difficulty(
        len(vocabulary) / counts.sum(),
        float(np.abs(1 / len(classes) - shares).sum()),
        float(-(shares * np.log(shares)).sum()),
        1 - nearest,
        float(matrix.mean()),
    )


WORDS = ["kappa", "lambda", "sigma", "omega", *(f"w{k}" for k in range(12))]
rows_of_words = st.lists(st.tuples(st.lists(st.sampled_from(WORDS), min_size=1), st.integers(0, 3)), max_size=30)
corpora = rows_of_words.map(lambda rows: [(["kappa", "rho"], 0), (["sigma"], 1), *rows])  # two classes at least


def test_terms_by_hand():
    found = difficulty(TEXTS, LABELS)
    assert found.distinct == pytest.approx(5 / 8)
    assert found.imbalance == pytest.approx(1 / 6 + 1 / 6)
    assert found.diversity == pytest.approx(-(2 / 3 * log(2 / 3) + 1 / 3 * log(1 / 3)))
    # √p √q is 0 but for red: the squared distance is 1 - √(0.4 / 3).
    assert found.overlap == pytest.approx(1 - sqrt(1 - sqrt(0.4 / 3)))
    entropies = -(2 * 0.4 * log(0.4) + 0.2 * log(0.2)) + log(2)  # `the` is no word of interest
    shared = 3 / 7 * (log(3 / 7) - log(0.4) - log(0.5))
    assert found.information == pytest.approx((entropies + 2 * shared) / 4)
    assert found.total == pytest.approx(sum(found))


def test_as_the_package_has_it_the_first_class_decides():
    first = (sqrt(0.4) - sqrt(1 / 3)) ** 2 + 0.4 + 0.2  # red, cat, dog
    assert difficulty(TEXTS, LABELS, symmetric=False).overlap == pytest.approx(1 - sqrt(first / 2))
    other = (sqrt(0.4) - sqrt(1 / 3)) ** 2 + 1 / 3 + 1 / 3  # red, the, birds
    found = difficulty([TEXTS[1], TEXTS[0], TEXTS[2]], [1, 0, 0], symmetric=False)
    assert found.overlap == pytest.approx(1 - sqrt(other / 2))
    # Of equally frequent words it keeps the first ten: those of class 0 share none with class 1, or one.
    many = " ".join(f"w{k:02}" for k in range(11))
    assert difficulty([many, "w10"], [0, 1], symmetric=False).information == pytest.approx(log(10) / 4)
    turned = difficulty([" ".join(reversed(many.split())), "w10"], [0, 1], symmetric=False)
    shared = 2 / 11 * (log(2 / 11) - log(0.1) - log(1))
    assert turned.information == pytest.approx((log(10) + 2 * shared) / 4)


@given(corpora)
def test_it_is_what_matrices_say(rows):
    texts, labels = [" ".join(words) for words, _ in rows], [label for _, label in rows]
    assert difficulty(texts, labels) == pytest.approx(by_arrays(texts, labels), abs=1e-7)


@given(corpora, st.randoms(use_true_random=False))
def test_neither_the_order_of_rows_nor_the_numbers_of_classes_matter(rows, random):
    found = difficulty([" ".join(words) for words, _ in rows], [label for _, label in rows])
    mixed = random.sample(rows, len(rows))
    names = dict(zip(range(4), random.sample(range(100), 4), strict=True))
    again = difficulty([" ".join(words) for words, _ in mixed], [names[label] for _, label in mixed])
    assert again == pytest.approx(found, abs=1e-9)


def test_words_are_ascii_in_lower_case_without_punctuation():
    assert difficulty(["Caf\u00e9 DON'T -- (stop)", "x"], [0, 1]) == difficulty(["caf dont stop", "X!"], [0, 1])


def test_equal_classes_overlap_and_different_ones_do_not():
    assert difficulty(["red cat", "cat red"], [0, 1]).overlap == pytest.approx(1.0)
    apart = difficulty(["red cat", "blue dog"], [0, 1])
    assert apart.overlap == pytest.approx(0.0)
    assert apart.information == pytest.approx(2 * log(2) / 4)


def test_the_nearest_two_classes_count():
    found = difficulty(["red cat", "cat red", "blue dog"], [0, 1, 2])
    assert found.overlap == pytest.approx(1.0)
    assert found.diversity == pytest.approx(log(3))
    assert found.imbalance == pytest.approx(0.0)


def test_a_class_of_stop_words_has_no_frequent_words_and_one_without_words_is_left_out():
    assert difficulty(["of the", "red cat"], [0, 1]).information == pytest.approx(log(2) / 4)
    found = difficulty(["red cat", "blue", "\u00e9"], [0, 1, 2])
    assert found.information == pytest.approx(log(2) / 4)
    assert found.diversity == pytest.approx(log(3))  # its row is still a row


def test_labels_may_be_an_array():
    assert difficulty(TEXTS, np.array(LABELS)) == difficulty(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("texts", "labels", "said"),
    [
        (TEXTS, [0.5, 1.0, 3.2], "whole numbers. Found 0.5.*regression is not defined"),
        (TEXTS, np.array([0.0, 1.0, 0.0]), "regression is not defined"),
        (TEXTS, [0, 1], "3 texts and 2 labels"),
        (TEXTS, [1, 1, 1], "at least two classes. Found words in 1"),
        (["red", "...", "blue"], [0, 1, 0], "at least two classes. Found words in 1"),
        ([], [], "Found words in 0"),
    ],
)
def test_what_cannot_be_measured_is_refused(texts, labels, said):
    with pytest.raises(RotaError, match=said):
        difficulty(texts, labels)


def test_every_term_is_a_plain_number():
    found = difficulty(TEXTS, np.array(LABELS))
    assert all(type(term) is float and math.isfinite(term) for term in (*found, found.total))
