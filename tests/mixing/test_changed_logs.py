"""Readers of the log of a mix whose sources came and went."""

from __future__ import annotations

import numpy as np
import pytest
from mix_tools import DATA, NAMES, bandit, changed, make

import rota
from rota.offpolicy import as_log
from rota.report import write_report
from rota.runlog import Run, present_tasks

NEW = {"d": [3000 + row for row in range(7)]}


def add_d(mix):
    mix.add(NEW, rota.Exp3S([*NAMES, "d"], eta=0.3))


def remove_c(mix):
    mix.remove("c", rota.Exp3S(["a", "b", "d"], eta=0.3))


@pytest.fixture
def logged(tmp_path):
    """Rows of each update, and the log of them."""
    mix = make(bandit(), lag=0, log=tmp_path / "r")
    rows = changed(mix, 120, {30: [add_d], 60: [remove_c]})
    mix.close()
    return rows, Run(tmp_path / "r")


def test_a_run_knows_all_its_tasks_and_when_they_came_and_left(logged):
    _, run = logged
    assert list(run.started["tasks"]) == NAMES
    assert {task: (own.get("came"), own.get("left")) for task, own in run.info["tasks"].items()} == {
        "a": (None, None),
        "b": (None, None),
        "c": (None, 60),
        "d": (30, None),
    }
    assert run.info["tasks"]["d"]["rows"] == {"train": 7}
    assert present_tasks(run.info) == ["a", "b", "d"]
    assert set(run.info["mixture"]) == {"a", "b", "d"}


def test_the_rows_of_each_update_can_be_read(logged):
    rows, run = logged
    everything = {**DATA, **NEW}
    for (task, own), line in zip(rows, run.lines("step"), strict=True):
        assert [everything[task][number] for number in run.row_ids(task, line)] == own


def test_off_policy_estimates_count_decisions_since_the_last_change(logged):
    rows, run = logged
    log, lines = as_log(run.folder), run.lines("step")
    assert log.tasks == ("a", "b", "d")
    # All three were visited before, so that each of the 60 decisions has a reward.
    assert {"a", "b", "d"} <= {task for task, _ in rows[:60]}
    assert [log.tasks[k] for k in log.chosen] == [line["task"] for line in lines[60:]]
    assert np.array_equal(log.probabilities, [line["probability"] for line in lines[60:]])


def test_the_report_tells_of_the_changes(logged, tmp_path):
    _, run = logged
    write_report([run], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Tasks that came and went" in page
    assert page.index("came: d") < page.index("left: c")
