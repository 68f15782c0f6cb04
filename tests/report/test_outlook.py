"""What is foretold of scores, and whether it came true."""

from __future__ import annotations

import numpy as np
import pytest
from page_tools import cells

from rota.report._foresight import foresight
from rota.report._groups import group_runs
from rota.report._history import History
from rota.report._outlook import outlook
from rota.report._palette import method_looks
from rota.runlog import RUN, SCHEMA, Run, write_json
from rota.schedules import warmup_linear

STEPS, EVERY = 400, 20


@pytest.fixture
def run(tmp_path):
    plan = {"method": "uniform", "steps": STEPS, "warmup": 0.1}
    write_json(tmp_path / RUN, {"schema": SCHEMA, "id": "x", "plan": plan, "tasks": {"a": {}, "b": {}}})
    return Run(tmp_path)


def learned(**scores):
    """Both tasks by turn; scores as functions of what a task has learned, all of it being 1."""
    rate, evaluations = warmup_linear(40, STEPS), list(range(0, STEPS + 1, EVERY))
    done = np.cumsum([0.0, *(rate(step) for step in range(STEPS))])
    found = {task: {step: float(of(done[step] / done[-1])) for step in evaluations} for task, of in scores.items()}
    turns = [(step, ("ab"[step % 2],)) for step in range(STEPS)]
    return History(("a", "b"), score=found, evaluations=evaluations, turns=turns)


def test_a_line_is_foretold_and_what_was_learned_stays(run):
    history = learned(a=lambda x: 0.5 * x, b=lambda x: 0.7 * min(x / 0.2, 1.0))
    found = foresight(run, history)
    assert found["a"].foretold == pytest.approx(0.5, abs=0.06)  # nobody knows where a line ends
    assert found["a"].held
    assert found["b"].foretold == pytest.approx(0.7, abs=0.01)
    assert found["a"].gain == pytest.approx(0.05, abs=0.01)
    assert found["b"].gain == pytest.approx(0.0, abs=0.005)
    assert 0 < found["a"].gain_reach < 0.1
    assert found["a"].before == history.score["a"][200]


def test_a_score_that_falls_afterwards_is_outside(run):
    found = foresight(run, learned(a=lambda x: 0.5 * min(x, 0.6) - 2 * max(x - 0.75, 0), b=lambda x: x))
    assert not found["a"].held
    assert found["b"].held


def test_the_tables_say_it_by_method_and_task(run):
    history = learned(a=lambda x: 0.5 * x, b=lambda x: 0.7)
    groups = group_runs([run])
    rows = cells(outlook(groups, {"uniform": [history]}, method_looks(["uniform"])))
    assert rows[0] == rows[2] == ["method", "a", "b"]
    assert rows[1][1].startswith("+4.") or rows[1][1].startswith("+5.")
    assert rows[1][2].startswith("+0.0")
    assert rows[3][2].startswith("70.0, was 70.0 (1 of 1)")


def test_nothing_is_said_where_evaluations_are_few(run):
    few = History(("a", "b"), score={"a": {0: 0.1, 200: 0.2, 400: 0.3}}, evaluations=[0, 200, 400])
    assert foresight(run, few) == {}
    assert outlook(group_runs([run]), {"uniform": [few]}, method_looks(["uniform"])) == ""
