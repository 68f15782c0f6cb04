"""Searches are found by the runs around them and by their trainings."""

from __future__ import annotations

from functools import partial

import pytest
from search_tools import write_search, write_search_run

from rota.analysis import read_searches
from rota.runlog import INNER


@pytest.fixture
def make_run(tmp_path):
    return partial(write_search_run, tmp_path)


def test_a_search_is_found_by_its_trainings_and_once(make_run, tmp_path):
    write_search(tmp_path / "s")
    runs = [make_run(f"s/{INNER}/{name}", "cycle") for name in ("1-1", "3-1")]
    assert [one.name for one in read_searches(runs)] == ["s"]
    outer = make_run("a")
    inner = make_run(f"a/{INNER}/search/{INNER}/1-1", "cycle")
    assert [one.name for one in read_searches([outer, inner])] == ["a"]


def test_searches_in_folders_of_the_same_name_can_be_told_apart(make_run):
    assert [one.name for one in read_searches([make_run("one/a"), make_run("two/a")])] == ["one/a", "two/a"]
