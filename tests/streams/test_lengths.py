"""Rows of similar length together: less padding, and still every row once per pass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.draws import Queue


@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 3))
def test_a_pass_holds_every_row_once_with_or_without_grouping(rows, size, plan):
    lengths = np.random.default_rng(rows).integers(1, 50, rows)
    for own in (None, lengths):
        queue = Queue("a", rows, size, seed=0, lengths=own)
        batches = [queue.at(plan * queue.batches + k) for k in range(queue.batches)]
        assert sorted(np.concatenate(batches).tolist()) == list(range(rows))
        assert [len(batch) for batch in batches[:-1]] == [size] * (queue.batches - 1)


def padding(queue, lengths):
    batches = [lengths[queue.at(k)] for k in range(queue.batches)]
    return 1 - sum(batch.sum() for batch in batches) / sum(batch.max() * len(batch) for batch in batches)


def test_grouping_wastes_less_padding_and_differs_from_pass_to_pass():
    lengths = np.random.default_rng(0).integers(5, 100, 2000)
    plain, grouped = Queue("a", 2000, 32, 0), Queue("a", 2000, 32, 0, lengths)
    assert padding(grouped, lengths) < 0.05 < 0.4 < padding(plain, lengths)
    first = [set(grouped.at(k).tolist()) for k in range(grouped.batches)]
    second = [set(grouped.at(k + grouped.batches).tolist()) for k in range(grouped.batches)]
    assert sum(batch in second for batch in first) < 3
    middles = [lengths[grouped.at(k)].mean() for k in range(grouped.batches)]
    assert abs(np.corrcoef(middles, np.arange(len(middles)))[0, 1]) < 0.4  # short and long batches come mixed


@pytest.mark.parametrize("number", [0, 7, 62, 63, 200])
def test_a_grouped_batch_depends_on_its_number_alone(number):
    lengths = np.random.default_rng(0).integers(5, 100, 2000)
    one, other = Queue("a", 2000, 32, 0, lengths), Queue("a", 2000, 32, 0, lengths)
    other.at(500)
    assert one.at(number).tolist() == other.at(number).tolist()
