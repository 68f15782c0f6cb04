"""The tables of what is predicted."""

from __future__ import annotations

import pytest
from curve_tools import learned, write_planned_run
from page_tools import cells, shown

from rota.analysis import RunHistory
from rota.report._outlook_section import outlook_section


@pytest.fixture
def run(tmp_path):
    return write_planned_run(tmp_path)


def test_the_tables_say_it_by_method_and_task(run):
    history = learned(a=lambda x: 0.5 * x, b=lambda x: 0.7)
    rows = cells(shown(outlook_section, run, histories={"uniform": [history]}))
    assert rows[0] == rows[2] == ["method", "a", "b"]
    assert rows[1][1].startswith("+4.") or rows[1][1].startswith("+5.")
    assert rows[1][2].startswith("+0.0")
    assert rows[3][2].startswith("70.0, was 70.0 (1 of 1)")


def test_nothing_is_said_where_evaluations_are_few(run):
    few = RunHistory(("a", "b"), score={"a": {0: 0.1, 200: 0.2, 400: 0.3}}, evaluations=[0, 200, 400])
    assert shown(outlook_section, run, histories={"uniform": [few]}) == ""
