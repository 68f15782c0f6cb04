"""What logs say about the course of runs: losses, means over runs, tiles; numbers by hand."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from log_tools import TASKS, eval_line, joint_line, step_line, write_run

from rota.analysis import AVERAGE, mean_curve, mixture_tiles, read_history, realised_tiles


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


def test_mixture_tiles_are_means_around_the_evaluations(make_run):
    other = [eval_line(0, {"left": 0.1, "right": 0.9}, left=(1.0, 0.1))]
    tiles = mixture_tiles([read_history(make_run("a")), read_history(make_run("b", lines=other))], ["left", "noise"])
    assert tiles.edges.tolist() == [-1, 1, 3, 5]
    np.testing.assert_allclose(tiles.values, [[0.3, 0.7, 0.9], [np.nan] * 3])


def test_realised_shares_count_the_turns_between_evaluations(make_run):
    tiles = realised_tiles([read_history(make_run("a"))], list(TASKS))
    assert tiles.edges.tolist() == [0, 2, 4]
    assert tiles.labels == ["updates 1–2", "updates 3–4"]
    np.testing.assert_allclose(tiles.values, [[0.5, 1.0], [0.5, 0.0], [0.0, 0.0]])


def test_a_joint_step_is_a_turn_of_every_task_in_it(make_run):
    lines = [joint_line(0, "left", "right"), step_line(1, "left"), eval_line(2, left=(1, 1)), joint_line(2, "noise")]
    tiles = realised_tiles([read_history(make_run("a", lines=lines))], list(TASKS))
    assert tiles.edges.tolist() == [0, 2, 3]  # the update after the last evaluation has its own tile
    np.testing.assert_allclose(tiles.values, [[2 / 3, 0], [1 / 3, 0], [0, 1]])


def test_realised_shares_are_means_over_the_runs_that_got_there(make_run):
    short = [step_line(0, "noise"), step_line(1, "noise"), eval_line(2, left=(1, 1))]
    tiles = realised_tiles([read_history(make_run("a")), read_history(make_run("b", lines=short))], list(TASKS))
    np.testing.assert_allclose(tiles.values, [[0.25, 1.0], [0.25, 0.0], [0.5, 0.0]])


def test_a_task_that_no_run_has_is_not_a_task_without_turns(make_run):
    tiles = realised_tiles([read_history(make_run("a"))], [*TASKS, "elsewhere"])
    assert tiles.values[2].tolist() == [0, 0]
    assert np.isnan(tiles.values[3]).all()
