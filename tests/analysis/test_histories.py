"""What logs say about the course of runs: losses, means over runs; numbers by hand."""

from __future__ import annotations

from functools import partial

import pytest
from log_tools import write_run

from rota.analysis import AVERAGE, mean_curve, read_history


@pytest.fixture
def make_run(tmp_path):
    return partial(write_run, tmp_path)


def test_average_loss_is_over_the_tasks_that_count(make_run):
    history = read_history(make_run("a"))
    assert history.loss[AVERAGE] == {0: 2.5, 2: 1.5, 4: pytest.approx(1.4)}
    assert history.score[AVERAGE] == {0: pytest.approx(0.15), 2: pytest.approx(0.45), 4: pytest.approx(0.5)}


def test_curve_averages_the_runs_that_have_a_step():
    curve = mean_curve([{0: 4.0, 10: 2.0, 20: 1.0}, {0: 2.0, 10: 1.0}, {5: 9.0}])
    assert curve.steps.tolist() == [0, 5, 10, 20]
    assert curve.mean.tolist() == [3.0, 9.0, 1.5, 1.0]
    assert curve.low.tolist() == [2.0, 9.0, 1.0, 1.0]
    assert curve.high.tolist() == [4.0, 9.0, 2.0, 1.0]
    assert curve.runs.tolist() == [2, 1, 2, 1]


def test_minimum_is_the_first_of_the_lowest_means():
    assert mean_curve([{0: 3.0, 10: 1.0, 20: 1.0}]).minimum == (10, 1.0)
    assert mean_curve([]).minimum is None
