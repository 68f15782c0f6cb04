"""The small parts of the engines."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from rota.engine._blocks import repeated_blocks
from rota.engine._optimizer import make_optimizer, make_state
from rota.engine._repeatable import repeatable, repeatably
from rota.engine._row_store import RowStore
from rota.engine._shapes import LENGTHS, padded_length, padded_rows
from rota.engine._step import AsyncScalars
from rota.settings import Settings
from rota.tasks import TensorRows


@given(st.integers(1, 3000), st.integers(0, 3000))
def test_padded_lengths_are_few_and_never_beyond_the_longest_row(length, more):
    longest = length + more
    found = padded_length(length, longest)
    assert length <= found <= longest
    assert found in LENGTHS or found % 128 == 0 or found == longest


@given(st.integers(1, 500), st.integers(1, 64))
def test_padded_rows_are_whole_batches(count, batch_size):
    found = padded_rows(count, batch_size)
    assert found % batch_size == 0
    assert count <= found < count + batch_size


def test_late_numbers_are_those_of_their_moment():
    numbers = torch.tensor([1.0, 2.0, 3.0])
    late, chosen = AsyncScalars(numbers), AsyncScalars(numbers, [2, 0])
    numbers.fill_(9)
    assert late.tolist() == [1.0, 2.0, 3.0]
    assert chosen.tolist() == [3.0, 1.0]


def text_rows():
    tokens = torch.tensor([[1, 2, 3, 0], [4, 0, 0, 0], [5, 6, 0, 0]])
    return TensorRows({"tokens": tokens}, torch.tensor([0, 1, 2]), torch.tensor([3, 1, 2]))


def test_rows_lie_on_the_device_as_long_as_they_fit():
    rows = text_rows()
    size = sum(tensor.nbytes for tensor in rows.device_rows().tensors)
    supply = RowStore(torch.device("cpu"), size + 1)
    ids = np.array([2, 1])
    sources = [supply.source(own, 2, 4) for own in (rows, text_rows(), rows)]
    assert [type(source).__name__ for source in sources] == ["_Resident", "_Staged", "_Resident"]
    for source in sources:
        source.load(ids, lambda: pytest.fail("the rows have a shelf"))
        batch = source.take(torch.from_numpy(ids))
        assert batch.inputs["tokens"].tolist() == [[5, 6, 0, 0], [4, 0, 0, 0]]
        assert batch.labels.tolist() == [2, 1]
    assert supply.width([(rows, np.array([1, 2]))]) == 3  # the longest row has three
    assert supply.width([]) is None


@pytest.mark.parametrize("name", ["adamw", "adam", "sgd"])
def test_a_made_state_is_that_before_the_first_update(name):
    """An update from it is the first update of an optimizer that made its state itself."""
    results = []
    for captured in (False, True):
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        settings = Settings(optimizer=name, lr=0.1, weight_decay=0.1)
        rate = torch.zeros(()) if captured else None
        optimizer = make_optimizer(model, settings, rate)
        x, before = torch.randn(4, 3), [p.detach().clone() for p in model.parameters()]
        if rate is not None:
            model(x).sum().backward()
            gradients = [p.grad for p in model.parameters()]
            make_state(optimizer, rate)
            assert all(p.equal(old) for p, old in zip(model.parameters(), before, strict=True))
            assert all(p.grad is g for p, g in zip(model.parameters(), gradients, strict=True))
        for step in range(3):
            if rate is not None:
                rate.fill_(0.1)
            optimizer.zero_grad()
            model(x * step).square().sum().backward()
            optimizer.step()
        results.append([p.detach() for p in model.parameters()])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)


def test_blocks_are_the_layers_that_a_model_repeats():
    model = nn.ModuleDict(
        {
            "layers": nn.ModuleList([nn.Linear(2, 2) for _ in range(3)]),
            "others": nn.ModuleList([nn.Linear(2, 2), nn.ReLU()]),
            "one": nn.ModuleList([nn.Linear(2, 2)]),
        }
    )
    assert repeated_blocks(model) == list(model["layers"])


def test_where_no_kernel_repeats_any_kernel_will_do():
    tried = []

    def work():
        tried.append(torch.is_deterministic_algorithms_warn_only_enabled())
        if not tried[-1]:
            raise RuntimeError("xyz does not have a deterministic implementation")
        return 7

    with repeatable():
        assert torch.backends.cudnn.enabled, "without cuDNN a convolution takes ten times as long"
        assert torch.are_deterministic_algorithms_enabled()
        assert repeatably(work) == 7
        assert repeatably(work) == 7
    assert tried == [False, True, True]
    assert not torch.are_deterministic_algorithms_enabled()
    with repeatable(), pytest.raises(RuntimeError, match="something else"):
        repeatably(lambda: (_ for _ in ()).throw(RuntimeError("something else")))
