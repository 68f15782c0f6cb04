"""How much of the data runs used, and where counts peak: by hand, from logs that were written by hand."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pool_tools import COURSE, evaluation, mixed, single, write_pool_run

from rota.analysis import RowsUsed, data_used, smoothed, task_spread
from rota.analysis._data_use import read_course
from rota.analysis._peaks import first_peak


@pytest.fixture
def make_run(tmp_path):
    return partial(write_pool_run, tmp_path)


def test_used_rows_are_counted_once_and_examples_each_time(make_run):
    used = data_used(make_run("a", COURSE))
    assert used == {"cola": RowsUsed(10, 10, 5, 16), "stsb": RowsUsed(4, 6, 3, 16)}
    total = sum(used.values(), RowsUsed())
    assert total == RowsUsed(14, 16, 8, 32)
    assert total.per_row(total.unique) == pytest.approx(8 / 14)
    assert math.isnan(RowsUsed(0, 3, 2).per_row(3))


def test_steps_of_one_task_are_counted_likewise_and_those_left_out_are_not(make_run):
    lines = [
        single(0, "cola", [7, 7, 3]),
        single(1, "stsb", [3]),
        {"kind": "skip", "step": 2, "tasks": {"stsb": [0, 1]}},
        single(3, "cola", [3, 9]),
        evaluation(4, cola=0.5),
    ]
    assert data_used(make_run("a", lines)) == {"cola": RowsUsed(10, 5, 3, 0), "stsb": RowsUsed(4, 1, 1, 0)}
    assert data_used(make_run("b")) == {"cola": RowsUsed(10), "stsb": RowsUsed(4)}


def test_smoothing_is_a_mean_over_the_window_around_each_value():
    values = np.array([3.0, 0.0, 6.0, np.nan, 1.0, 2.0, 7.0, 7.0, 0.0, 5.0, 4.0, 9.0])
    for window in (1, 2, 3, 10, 50):
        around = [values[max(0, k - window // 2) : k - window // 2 + window] for k in range(len(values))]
        expected = [np.nan if np.isnan(own).all() else np.nanmean(own) for own in around]
        np.testing.assert_allclose(smoothed(values, window), expected)
    assert smoothed([]).tolist() == []


@pytest.mark.parametrize(
    ("counts", "least", "window", "at"),
    [
        ([0, 1, 0, 5, 0], 1, 1, 1),
        ([0, 1, 0, 5, 0], 2, 1, 3),  # the first is too low
        ([0, 1, 3, 3, 3, 2], 1, 1, 2),  # where it stays, its beginning
        ([0, 3, 3, 4, 0], 1, 1, 3),  # a step on the way up is none
        ([5, 4, 3, 2], 1, 1, None),  # nor are the ends
        ([1, 2, 3, 3], 1, 1, None),
        ([0] * 20 + [10] + [0] * 20, 1, 10, 16),  # windows from 16 - 5 to 16 + 4 are the first to hold it
        ([0] * 20 + [10] + [0] * 20, 1.01, 10, None),
        ([0, 4] * 10 + [6] * 10 + [0] * 10, 4, 10, 25),  # wiggles are smoothed away
        ([], 1, 10, None),
        ([3], 1, 10, None),
    ],
)
def test_first_peaks_by_hand(counts, least, window, at):
    assert first_peak(counts, least, window) == at


@given(st.lists(st.integers(0, 6), max_size=40), st.integers(1, 5), st.sampled_from([1, 2, 10]))
def test_first_peaks_by_looking_to_both_sides(counts, least, window):
    level = smoothed(counts, window).tolist()
    found = None
    for k in range(1, len(level)):
        after = [value for value in level[k:] if value != level[k]]
        if level[k] >= least and level[k - 1] < level[k] and after and after[0] < level[k]:
            found = k
            break
    assert first_peak(counts, least, window) == found


def test_a_peak_is_at_least_an_equal_share_of_the_batch(make_run):
    counts = [0] * 10 + [3] * 10 + [0] * 10 + [8] * 10 + [4] * 20  # of 8 examples for 2 tasks
    lines = [mixed(2 * k, cola=[0] * n, stsb=[0] * (8 - n)) for k, n in enumerate(counts)]
    course = read_course(make_run("a", lines))
    assert course.first_peak("cola") == 2 * 35  # the third stretch fills the window from 30 to 39
    assert course.first_peak("stsb") == 2 * 25  # 8 again, after 5
    assert read_course(make_run("b")).first_peak("cola") is None


def test_task_spread_divides_by_the_number_of_tasks():
    table_9 = [60.9, 82.7, 83.1, 88.9, 90.7, 90.3, 79.1, 91.9, 88.8]
    assert task_spread(table_9) == pytest.approx(9.15, abs=0.005)
    assert task_spread([0.7]) == 0.0
    assert math.isnan(task_spread([]))
