"""The suites that need no download are what they say."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rota.data import SUITES, load_tasks
from rota.data._digits import EVALUATION_ROWS, SHIFT, SIDE, TRAIN_ROWS
from rota.data._toytext import LONGEST, NUMBER, WORDS
from rota.errors import RotaError


@pytest.fixture(scope="module")
def digits():
    return {task.name: task for task in load_tasks(["digits"])}


@pytest.fixture(scope="module")
def toytext():
    return {task.name: task for task in load_tasks(["toytext"])}


def corners(task, split):
    """The part of each picture that shows its first digit alone, as bytes."""
    images = task.splits[split].batch(np.arange(task.size(split))).inputs["image"][:, 0]
    return {image[:SHIFT, :].numpy().tobytes() for image in images}


def test_no_digit_is_in_two_splits(digits):
    found = {
        split: set().union(*(corners(task, split) for task in digits.values())) for split in ("train", "dev", "test")
    }
    blank = np.zeros((SHIFT, SIDE + SHIFT), dtype=np.float32).tobytes()
    for one, other in (("train", "dev"), ("train", "test"), ("dev", "test")):
        assert len((found[one] & found[other]) - {blank}) <= 2  # two different digits may share their upper half


def test_digits_have_the_sizes_and_auxiliaries_they_promise(digits):
    assert {name: task.size() for name, task in digits.items()} == TRAIN_ROWS
    assert all(task.size("dev") == EVALUATION_ROWS["dev"] for task in digits.values())
    assert {name for name, task in digits.items() if task.auxiliary} == {"larger", "parity", "noise"}


def test_digits_are_the_same_every_time(digits):
    again = {task.name: task for task in load_tasks(["digits"])}
    for name, task in digits.items():
        one, other = (t.splits["train"].batch(np.arange(50)) for t in (task, again[name]))
        assert one.inputs["image"].equal(other.inputs["image"])
        assert one.labels.equal(other.labels)


def test_noise_has_labels_that_say_nothing_about_the_picture(digits):
    labels = digits["noise"].splits["train"].labels()
    counts = torch.bincount(labels, minlength=10)
    assert counts.min() > 30
    assert not labels.equal(digits["left"].splits["train"].labels()[: len(labels)])


def test_toytext_has_one_task_of_each_kind(toytext):
    kinds = [type(task.kind).__name__ for task in toytext.values()]
    assert sorted(kinds) == ["Classification", "Classification", "MultipleChoice", "Regression", "Span", "Tagging"]


def sentence(tokens):
    return [WORDS[k] for k in tokens.tolist() if k]


def test_toytext_labels_follow_from_the_sentences(toytext):
    ids = np.arange(100)
    for words, label in _pairs(toytext["follows"], ids):
        cut = words.index("<sep>")
        assert (words[cut - 1] == words[-1]) == bool(label)
    for words, label in _pairs(toytext["howmany"], ids):
        numbers = [
            NUMBER[word] - NUMBER["one"] + 1 for word in words if NUMBER["one"] <= NUMBER[word] <= NUMBER["nine"]
        ]
        assert sum(numbers) / 10 == pytest.approx(label.item())
    for words, (start, end) in _pairs(toytext["who"], ids):
        assert words[end + 1] == words[1]  # the answer stands before the verb that was asked for
        assert words[start - 1] in ("<sep>", "and")
    batch = toytext["roles"].splits["train"].batch(ids)
    assert batch.labels.shape == batch.inputs["tokens"].shape
    assert ((batch.labels == -100) == (batch.inputs["tokens"] == 0)).all()
    batch = toytext["where"].splits["train"].batch(ids)
    assert batch.inputs["tokens"].shape[1] == 3
    assert batch.inputs["tokens"].shape[2] <= LONGEST
    for choices, label in zip(batch.inputs["tokens"], batch.labels, strict=True):
        right = sentence(choices[label])
        assert right[-1] == right[right.index("<sep>", 2) - 1]


def _pairs(task, ids):
    batch = task.splits["train"].batch(ids)
    return [(sentence(tokens), label) for tokens, label in zip(batch.inputs["tokens"], batch.labels, strict=True)]


def test_tasks_are_found_by_name_and_suites_stand_for_their_tasks():
    assert [task.name for task in load_tasks(["right", "left", "right"])] == ["right", "left"]
    assert next(task.name for task in load_tasks(["noise", "digits"])) == "noise"
    assert len(load_tasks(["digits"])) == 5
    with pytest.raises(RotaError, match=r"Unknown task 'lft'\. Did you mean 'left'\?"):
        load_tasks(["lft"])


def test_only_the_collection_of_camtl_repeats_names_of_other_suites():
    names = [name for suite in SUITES.values() if suite.name != "camtl" for name in suite.tasks]
    assert len(set(names)) == len(names)
    assert set(SUITES["camtl"].tasks) < set(names)
    assert len(SUITES["camtl"].tasks) == 23  # the paper's 24, without the second RTE
    for suite in ("digits", "toytext"):
        assert [task.name for task in load_tasks([suite])] == list(SUITES[suite].tasks)
