"""When tasks converge: by hand."""

from __future__ import annotations

import math

import pytest
from page_tools import cells
from scipy.stats import kendalltau

from rota.report._convergence import convergence, kendall
from rota.report._groups import group_runs
from rota.report._history import AVERAGE, History
from rota.report._numbers import uncertainty_tiles
from rota.report._palette import method_looks
from rota.runlog import RUN, SCHEMA, Run, write_json


def a_run(folder, method):
    folder.mkdir()
    tasks = {"a": {"auxiliary": False}, "b": {"auxiliary": False}, "x": {"auxiliary": True}}
    write_json(folder / RUN, {"schema": SCHEMA, "id": method, "plan": {"method": method}, "tasks": tasks})
    return Run(folder)


def a_history(uncertainty=None, **losses):
    """Losses of tasks at steps 0, 10, 20, 30; the average is over a and b."""
    steps = [0, 10, 20, 30]
    found = {name: dict(zip(steps, own, strict=True)) for name, own in losses.items()}
    found[AVERAGE] = {step: (found["a"][step] + found["b"][step]) / 2 for step in steps}
    return History(("a", "b", "x"), loss=found, evaluations=steps, uncertainty=uncertainty or {})


def test_minima_spread_excess_and_speed_by_hand(tmp_path):
    groups = group_runs([a_run(tmp_path / "u", "union"), a_run(tmp_path / "t", "active")])
    histories = {
        "union": [a_history(a=[4, 3, 2, 1], b=[4, 1, 2, 3], x=[1, 1, 1, 0])],
        # The average is lowest at 10: a is 0.5 above its own lowest loss there, b 0.
        "active": [a_history(a=[4, 1, 0.5, 3], b=[4, 1, 2, 3], x=[0, 1, 1, 1])],
    }
    rows = cells(convergence(groups, histories, method_looks(histories)))
    assert rows[0] == ["method", "a", "b", "x", "spread", "excess", "sooner than union"]
    # union: average 4, 2, 2, 2: the first of equals, 10.
    assert rows[1] == ["union", "30", "10", "30", "2.0", "1.0000", ""]
    assert rows[2] == ["active", "20", "10", "0", "1.0", "0.2500", "1.25"]  # (30/20 + 10/10) / 2
    assert len(rows) == 3


def test_trends_are_kendalls(tmp_path):
    values = [3.0, 1.0, 2.0, 2.0, 0.5]
    assert kendall([1.0, 2.0, 4.0, 3.0]) == pytest.approx(kendalltau([0, 1, 2, 3], [1, 2, 4, 3]).statistic)
    assert kendall(values) == pytest.approx(-0.5)  # 7 pairs fall, 2 rise, 1 is even
    assert math.isnan(kendall([1.0]))
    groups = group_runs([a_run(tmp_path / "t", "active")])
    surveyed = {"a": dict(enumerate(values)), "b": {0: 1.0, 1: 2.0}}
    history = a_history(surveyed, a=[4, 3, 2, 1], b=[4, 1, 2, 3], x=[1, 1, 1, 0])
    rows = cells(convergence(groups, {"active": [history]}, method_looks(["active"])))
    assert rows[-1] == ["active", "-0.50", "1.00", "–"]
    tiles = uncertainty_tiles([history], ["a", "b", "x"])
    assert tiles.values[0].tolist() == pytest.approx([value / 3.0 for value in values])


def test_nothing_is_said_of_runs_that_were_never_evaluated(tmp_path):
    groups = group_runs([a_run(tmp_path / "t", "active")])
    assert convergence(groups, {"active": [History(("a", "b", "x"))]}, method_looks(["active"])) == ""
