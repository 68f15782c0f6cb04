"""What logs say about rounds of branches, and who they are for."""

from __future__ import annotations

from functools import partial

import pytest
from round_tools import diw, write_rounds_run

from rota.analysis import JOINT_TRIES, read_rounds, target_of


@pytest.fixture
def make_run(tmp_path):
    return partial(write_rounds_run, tmp_path)


def test_numbers_that_are_none_are_absent(make_run):
    run = make_run("a", [diw(0, (None, 0.5), [None], 0, (1.0, 3.0)), diw(1, (0.5, 0.5), [], None, (1.0, None))], "diw")
    found = read_rounds(run)
    assert found.series["score"] == {"right": {0: 50.0, 1: 50.0}, "left": {1: 50.0}}
    assert found.series["tries"] == {JOINT_TRIES: {0: 1.0, 1: 0.0}}
    assert found.series["weight"] == {"left": {0: 0.25, 1: 1.0}, "right": {0: 0.75}}


def test_the_target_is_the_plans(make_run):
    assert target_of(make_run("a", target="right")) == "right"
    assert target_of(make_run("b", method="uniform", target=None)) is None
