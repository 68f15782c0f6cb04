"""Processes of this machine: in which order a single one does what there is."""

from __future__ import annotations

import os

import pytest

from rota.turns import Turns, give_way, places
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


def _work(assignment):
    give_way()
    return "done", f"{os.getpid()} {places()}"


def _turns(work, first, processes):
    return Turns(work), 2 if first.name[0] == "a" else 4


def _letter(assignment):
    return assignment.name[0]


def test_a_process_does_one_kind_at_a_time_in_as_many_places_as_it_needs():
    names = ["a1", "b1", "a2", "b2", "a3", "c1", "b3", "a4", "b4", "c2"]
    assignments = [Assignment(name, f"/runs/{name}", {}) for name in names]
    under_way, together, said = {}, [], {}
    for event, assignment, ended in Processes(2).work_through(assignments, Labour(_work, _turns, _letter)):
        if event == "started":
            under_way[assignment.name] = assignment
        elif event == "done":
            together.append({name[0] for name in under_way})
            del under_way[assignment.name]
            said[assignment.name] = ended[1].split()
    assert sorted(said) == sorted(names)
    assert len({pid for pid, _ in said.values()}) == 2
    assert all(len(kinds) <= 2 for kinds in together)  # of two processes, one each
    most = {"a": 2, "b": 4, "c": 2}  # all that have room, or all that there are
    assert all(1 <= int(own) <= most[name[0]] for name, (_, own) in said.items())
