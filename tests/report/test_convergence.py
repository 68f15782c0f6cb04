"""When tasks converge: by hand."""

from __future__ import annotations

from page_tools import cells, shown

from rota.analysis import AVERAGE, RunHistory
from rota.report._convergence_section import convergence_section
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
    pooled = {step: (9 * found["a"][step] + found["b"][step]) / 10 for step in steps}  # a has nine times the rows of b
    return RunHistory(("a", "b", "x"), found, pooled_loss=pooled, evaluations=steps, uncertainty=uncertainty or {})


def test_minima_spread_excess_and_speed_by_hand(tmp_path):
    runs = [a_run(tmp_path / "u", "union"), a_run(tmp_path / "t", "active")]
    histories = {
        "union": [a_history(a=[4, 3, 2, 1], b=[4, 1, 2, 3], x=[1, 1, 1, 0])],
        # The average is lowest at 10: a is 0.5 above its own lowest loss there, b 0.
        "active": [a_history(a=[4, 1, 0.5, 3], b=[4, 1, 2, 3], x=[0, 1, 1, 1])],
    }
    rows = cells(shown(convergence_section, *runs, histories=histories))
    assert rows[0] == ["method", "a", "b", "x"]
    # union: average 4, 2, 2, 2: the first of equals, 10.
    assert rows[1:3] == [["union", "30", "10", "30"], ["active", "20", "10", "0"]]
    assert rows[3] == ["method", "spread", "excess", "excess, pooled", "sooner than union"]
    # Pooled it is lowest at 30 with union, where b is 2 above; at 20 with active, where b is 1 above.
    assert rows[4:] == [
        ["union", "2.0", "1.0000", "1.0000", ""],
        ["active", "1.0", "0.2500", "0.5000", "1.25"],  # (30/20 + 10/10) / 2
    ]


def test_trends_are_kendalls(tmp_path):
    values = [3.0, 1.0, 2.0, 2.0, 0.5]  # 7 pairs fall, 2 rise, 1 is even
    surveyed = {"a": dict(enumerate(values)), "b": {0: 1.0, 1: 2.0}}
    history = a_history(surveyed, a=[4, 3, 2, 1], b=[4, 1, 2, 3], x=[1, 1, 1, 0])
    rows = cells(shown(convergence_section, a_run(tmp_path / "t", "active"), histories={"active": [history]}))
    assert rows[-1] == ["active", "-0.50", "1.00", "–"]


def test_nothing_is_said_of_runs_that_were_never_evaluated(tmp_path):
    histories = {"active": [RunHistory(("a", "b", "x"))]}
    assert shown(convergence_section, a_run(tmp_path / "t", "active"), histories=histories) == ""
