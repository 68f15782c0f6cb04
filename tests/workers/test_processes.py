"""Processes of this machine: in which order a single one does what there is."""

from __future__ import annotations

import pytest

from rota.turns import Turns
from rota.workers import Assignment, Labour, Processes

NAMES = ["a1", "b1", "a2", "b2", "c1", "a3"]
ASSIGNMENTS = [Assignment(name, f"/runs/{name}", {}) for name in NAMES]


@pytest.mark.parametrize(
    ("places", "expected"), [(1, NAMES), (2, ["a1", "a2", "a3", "b1", "b2", "c1"])], ids=["alone", "in company"]
)
def test_those_of_one_kind_come_first_where_several_are_under_way(places, expected):
    asked, begun = [], []

    def work(assignment):
        begun.append(assignment.name)
        return "done", assignment.name

    def turns(work, first, processes):
        asked.append(first.name)
        return Turns(work), places

    labour = Labour(work, turns, kind=lambda assignment: assignment.name[0])
    events = [event for event in Processes().work_through(ASSIGNMENTS, labour) if event[0] == "done"]
    assert begun == expected
    assert sorted(event[1].name for event in events) == sorted(NAMES)
    assert asked == (["a1"] if places == 1 else ["a1", "b1", "c1"])  # each kind says how many of it go together


def test_what_is_raised_ends_the_other_kinds_too():
    begun = []

    def work(assignment):
        begun.append(assignment.name)
        if assignment.name == "b1":
            raise ValueError("no")
        return "done", assignment.name

    labour = Labour(work, lambda work, first, processes: (Turns(work), 2), kind=lambda own: own.name[0])
    with pytest.raises(ValueError, match="no"):
        list(Processes().work_through(ASSIGNMENTS, labour))
    assert "c1" not in begun
