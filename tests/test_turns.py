"""Works that take turns in one process."""

from __future__ import annotations

import threading
import time

import pytest

from rota.turns import Turns, give_way, own_time, places, shared, surroundings, together


def results(turns, items, places):
    return [event[2] for event in turns.work_through(items, places) if event[0] == "done"]


def test_one_at_a_time_and_in_turn():
    running, seen = [], []

    def work(name):
        for number in range(3):
            running.append(name)
            assert running == [name]
            seen.append(f"{name}{number}")
            running.clear()
            give_way()
        return name

    assert results(Turns(work), ["a", "b", "c"], places=2) == ["a", "b", "c"]
    assert seen == ["a0", "b0", "a1", "b1", "a2", "b2", "c0", "c1", "c2"]


def test_what_is_asked_together_is_done_at_once_for_those_with_the_same_key():
    groups = []

    def work(number):
        def total(items):
            groups.append(list(items))
            return [sum(items)] * len(items)

        first = together("all", number, total)
        return first, together(number % 2, number, total)

    found = results(Turns(work), [1, 2, 3, 4], places=4)
    assert sorted(found) == [(10, 4), (10, 4), (10, 6), (10, 6)]
    assert groups == [[1, 2, 3, 4], [1, 3], [2, 4]]


def test_those_who_end_early_are_not_waited_for():
    def work(rounds):
        return [together("key", rounds, lambda items: [len(items)] * len(items)) for _ in range(rounds)]

    found = results(Turns(work), [1, 3], places=2)
    assert found == [[2], [2, 1, 1]]


def test_a_mistake_in_joint_work_reaches_all_who_asked():
    def fails(items):
        raise ValueError("no")

    def work(number):
        with pytest.raises(ValueError, match="no"):
            together("key", number, fails)
        return number

    assert results(Turns(work), [1, 2], places=2) == [1, 2]


def test_an_exception_ends_all_works_and_their_threads():
    unwound = []

    def work(number):
        try:
            for _ in range(5):
                give_way()
            if number == 1:
                raise ValueError("broken")
            while True:
                give_way()
        finally:
            unwound.append(number)

    before = threading.active_count()
    with pytest.raises(ValueError, match="broken"):
        list(Turns(work).work_through([0, 1, 2], places=3))
    assert sorted(unwound) == [0, 1, 2]
    assert threading.active_count() == before


def test_what_goes_wrong_on_the_way_out_keeps_nobody():
    def work(name):
        if name == "bad":
            give_way()
            raise ValueError("no")
        try:
            while True:
                give_way()
        finally:
            raise KeyError("on the way out")

    before = threading.active_count()
    with pytest.raises(ValueError, match="no"):
        results(Turns(work), ["endless", "endless, too", "bad"], places=3)
    assert threading.active_count() == before


def test_a_keyboard_interrupt_lets_the_others_end_by_themselves():
    saved = []

    def work(number):
        for _ in range(3 + number):
            give_way()
        saved.append(number)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(Turns(work).work_through([0, 1, 2, 3], places=3))
    assert saved == [0, 1, 2]  # the fourth never began


def test_surroundings_are_put_aside_and_back():
    said = []

    class Named:
        def __init__(self):
            self.name = None

        def enter(self):
            said.append(("enter", self.name))

        def leave(self):
            said.append(("leave", self.name))

    def work(name):
        surroundings().name = name
        give_way()

    list(Turns(work, Named).work_through(["a", "b"], places=2))
    assert said[:5] == [("enter", None), ("leave", "a"), ("enter", None), ("leave", "b"), ("enter", "a")]


def test_what_is_shared_is_made_once():
    made = []

    def work(number):
        own = shared("list", lambda: made.append(number) or [])
        own.append(number)
        give_way()
        return len(own), places()

    assert results(Turns(work), [1, 2, 3], places=3) == [(3, 3)] * 3
    assert made == [1]


def test_a_clock_that_stands_still_while_others_work():
    def work(seconds):
        began = own_time()
        time.sleep(seconds)
        give_way()
        return own_time() - began

    short, long = results(Turns(work), [0.0, 0.2], places=2)
    assert short < 0.1 < 0.2 <= long


def test_items_may_come_later():
    turns = Turns(lambda number: 2 * number)
    turns.open(2)
    found = []
    for number in range(5):
        turns.add(number)
        while (event := turns.next_event())[0] != "done":
            pass
        found.append(event[2])
    turns.close()
    assert found == [0, 2, 4, 6, 8]
