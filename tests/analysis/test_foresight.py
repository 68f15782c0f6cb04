"""What is predicted of scores, and whether it came true."""

from __future__ import annotations

import pytest
from curve_tools import learned, write_planned_run

from rota.analysis import RunHistory, foresight


@pytest.fixture
def run(tmp_path):
    return write_planned_run(tmp_path)


def test_a_line_is_predicted_and_what_was_learned_stays(run):
    history = learned(a=lambda x: 0.5 * x, b=lambda x: 0.7 * min(x / 0.2, 1.0))
    found = foresight(run, history)
    assert found["a"].predicted == pytest.approx(0.5, abs=0.06)  # nobody knows where a line ends
    assert found["a"].held
    assert found["b"].predicted == pytest.approx(0.7, abs=0.01)
    assert found["a"].gain == pytest.approx(0.05, abs=0.01)
    assert found["b"].gain == pytest.approx(0.0, abs=0.005)
    assert 0 < found["a"].gain_reach < 0.1
    assert found["a"].before == history.score["a"][200]


def test_a_score_that_falls_afterwards_is_outside(run):
    found = foresight(run, learned(a=lambda x: 0.5 * min(x, 0.6) - 2 * max(x - 0.75, 0), b=lambda x: x))
    assert not found["a"].held
    assert found["b"].held


def test_nothing_is_predicted_where_evaluations_are_few(run):
    few = RunHistory(("a", "b"), score={"a": {0: 0.1, 200: 0.2, 400: 0.3}}, evaluations=[0, 200, 400])
    assert foresight(run, few) == {}
