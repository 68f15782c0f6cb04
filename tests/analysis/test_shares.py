"""Which share of the updates each task had: numbers by hand."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from log_tools import eval_line, joint_line, step_line, write_run

from rota.analysis import plain_mixtures, read_history, share_courses
from rota.analysis._shares import FEWEST, MOST
from rota.runlog import RUN, Run, write_json


@pytest.fixture
def make_run(tmp_path):
    return partial(write_run, tmp_path)


def test_what_the_policy_held_at_evaluations_is_averaged_over_runs(make_run):
    other = [eval_line(step, {"left": 0.1, "right": 0.9}, left=(1.0, 0.1)) for step in (0, 2)]
    found = share_courses([read_history(make_run("a")), read_history(make_run("b", lines=other))])
    assert found.intended
    left = found.courses["left"]
    assert left.steps.tolist() == [0, 2, 4]
    np.testing.assert_allclose(left.mean, [0.3, 0.4, 0.9])
    np.testing.assert_allclose([left.low[0], left.high[0]], [0.1, 0.5])
    assert "noise" not in found.courses  # nobody gave it a share
    assert found.overall == {"left": 0.75, "right": 0.25, "noise": 0.0}  # of the run that has turns


def test_without_mixtures_turns_are_counted_stretch_by_stretch(make_run):
    lines = [step_line(step, "left" if step < 6 else "right") for step in range(8)]
    found = share_courses([read_history(make_run("a", lines=lines))])
    assert not found.intended
    assert found.courses["left"].steps.tolist() == [1, 3, 5, 7]
    assert found.courses["left"].mean.tolist() == [1, 1, 1, 0]
    assert found.courses["noise"].mean.tolist() == [0, 0, 0, 0]  # it was there, and never had a turn


def test_a_joint_step_is_a_turn_of_every_task_in_it(make_run):
    lines = [joint_line(0, "left", "right"), step_line(1, "left")]
    assert share_courses([read_history(make_run("a", lines=lines))]).overall["left"] == pytest.approx(2 / 3)


def test_a_run_that_ended_earlier_has_the_same_stretches(make_run):
    long = [step_line(step, "left") for step in range(8)]
    short = [step_line(step, "right") for step in range(4)]
    runs = [make_run("a", lines=long), make_run("b", lines=short)]
    curve = share_courses([read_history(run) for run in runs]).courses["left"]
    assert curve.mean.tolist() == [0.5, 0.5, 1, 1]
    assert curve.runs.tolist() == [2, 2, 1, 1]


@pytest.mark.parametrize(("steps", "stretches"), [(0, 0), (6, FEWEST), (15, FEWEST), (150, 10), (10_000, MOST)])
def test_a_run_is_cut_so_that_an_equal_share_can_be_counted(make_run, steps, stretches):
    lines = [step_line(step, ("left", "right", "noise")[step % 3]) for step in range(steps)]
    found = share_courses([read_history(make_run("a", lines=lines))])
    assert [len(curve.steps) for curve in found.courses.values()] == [stretches] * 3 * bool(stretches)


def sized(run, **rows):
    tasks = {task: {"rows": {"train": size}} for task, size in rows.items()}
    write_json(run.folder / RUN, {**run.info, "tasks": tasks})
    return Run(run.folder)


def test_plain_mixtures_are_powers_of_the_sizes(make_run):
    found = plain_mixtures([sized(make_run("a"), left=900, right=100, dev_only=0)])
    assert found["uniform"] == {"left": 0.5, "right": 0.5}
    assert found["size"] == pytest.approx({"left": 0.9, "right": 0.1})
    assert found["size^0.5"] == pytest.approx({"left": 0.75, "right": 0.25})


def test_where_a_size_is_unknown_only_uniform_is_plain(make_run):
    found = plain_mixtures([sized(make_run("a"), left=900, stream=None)])
    assert found == {"uniform": {"left": 0.5, "stream": 0.5}}
    assert plain_mixtures([]) == {}
