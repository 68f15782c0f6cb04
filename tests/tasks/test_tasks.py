"""Rows, batches and sets of tasks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rota.errors import RotaError
from rota.tasks import IGNORED, Batch, Classification, Task, TensorRows, check_tasks, cut_dev, halve_dev, limit_rows


def rows(count=6):
    return TensorRows({"x": torch.arange(count)[:, None].float()}, torch.arange(count) % 2)


def task(name="t", train=6, dev=6, **options):
    return Task(name, Classification(2), {"train": rows(train), "dev": rows(dev)}, **options)


def test_a_batch_holds_the_rows_asked_for_in_that_order():
    batch = rows().batch(np.array([4, 1]))
    assert batch.inputs["x"].tolist() == [[4.0], [1.0]]
    assert batch.labels.tolist() == [0, 1]


def test_a_batch_is_cut_to_its_longest_row_and_so_are_labels_per_token():
    tokens = torch.tensor([[1, 0, 0], [1, 2, 0], [1, 2, 3]])
    data = TensorRows({"tokens": tokens}, tokens.clone(), lengths=torch.tensor([1, 2, 3]))
    batch = data.batch(np.array([0, 1]))
    assert batch.inputs["tokens"].shape == (2, 2)
    assert batch.labels.shape == (2, 2)
    spans = TensorRows({"tokens": tokens}, torch.tensor([[0, 0], [0, 1], [1, 2]]), lengths=torch.tensor([1, 2, 3]))
    assert spans.batch(np.array([0])).labels.tolist() == [[0, 0]]


def test_a_shelf_fills_rows_up():
    tokens = torch.tensor([[1, 0], [1, 2]])
    device_rows = TensorRows({"tokens": tokens}, tokens.clone(), lengths=torch.tensor([1, 2])).device_rows()
    batch = device_rows.to(torch.device("cpu")).take(torch.tensor([1, 0]), 3)
    assert batch.inputs["tokens"].tolist() == [[1, 2, 0], [1, 0, 0]]
    assert batch.labels.tolist() == [[1, 2, IGNORED], [1, 0, IGNORED]]


@pytest.mark.parametrize(
    ("size", "parts", "expected"), [(6, 1, [6]), (6, 2, [3, 3]), (5, 3, [1, 2, 2]), (2, 5, [1, 1])]
)
def test_splitting_keeps_every_row_once_and_makes_no_empty_batch(size, parts, expected):
    batch = rows(size).batch(np.arange(size))
    split = batch.split(parts)
    assert [len(part) for part in split] == expected
    assert torch.cat([part.inputs["x"] for part in split]).equal(batch.inputs["x"])
    assert all(isinstance(part, Batch) for part in split)


def test_tasks_that_cannot_be_trained_are_refused():
    with pytest.raises(RotaError, match="Task 'empty' expects at least one train row"):
        check_tasks([task("a"), task("empty", train=0)])
    with pytest.raises(RotaError, match=r"at least one dev row\. Found none\. Give it rows \(dev: 0\.1"):
        check_tasks([task(dev=0)])
    with pytest.raises(RotaError, match="two classes or more"):
        check_tasks([task(train=1)])
    with pytest.raises(RotaError, match="Found twice: a"):
        check_tasks([task("a"), task("a")])
    with pytest.raises(RotaError, match="Found only auxiliary ones: a"):
        check_tasks([task("a", auxiliary=True)])


def test_half_of_the_dev_rows_can_be_kept_for_a_test():
    one = task("a", dev=7)
    halved = halve_dev([one])[0]
    assert (halved.size("train"), halved.size("dev"), halved.size("test")) == (6, 4, 3)
    together = torch.cat(
        [halved.splits["dev"].batch(np.arange(4)).inputs["x"], halved.splits["test"].batch(np.arange(3)).inputs["x"]]
    )
    everything = one.splits["dev"].batch(np.arange(7)).inputs["x"]
    assert sorted(together.flatten().tolist()) == sorted(everything.flatten().tolist())
    assert halve_dev([halved])[0] is halved  # whoever has test rows keeps them


def test_dev_rows_can_be_cut_from_the_training_rows_and_become_a_test():
    one = task("a", train=20, dev=7)
    cut = cut_dev([one], 0.25)[0]
    assert (cut.size("train"), cut.size("dev"), cut.size("test")) == (15, 5, 7)
    assert cut.splits["test"] is one.splits["dev"]
    parts = [cut.splits["train"].batch(np.arange(15)), cut.splits["dev"].batch(np.arange(5))]
    everything = one.splits["train"].batch(np.arange(20)).inputs["x"]
    assert sorted(torch.cat([own.inputs["x"] for own in parts]).flatten().tolist()) == sorted(
        everything.flatten().tolist()
    )
    assert cut_dev([cut], 0.25)[0] is cut  # whoever has test rows keeps all rows
    with pytest.raises(RotaError, match=r"'a' expects dev rows, which become its test rows"):
        cut_dev([task("a", dev=0)], 0.25)


def test_rows_can_be_limited_by_name():
    small = limit_rows([task("a"), task("b")], {"a": 2})
    assert [t.size() for t in small] == [2, 6]
    assert [t.size("dev") for t in small] == [6, 6]
    with pytest.raises(RotaError, match="Unknown task 'c'"):
        limit_rows([task("a")], {"c": 1})
    with pytest.raises(RotaError, match="zero or more rows"):
        limit_rows([task("a")], {"a": -1})
