"""Sources come, go and are parked: decisions stay those of a loop by hand, whatever loaders and interruptions do."""

from __future__ import annotations

import collections
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mix_tools import DATA, NAMES, SIZES, bandit, changed, loss_of, make, rows_in, saved, trained
from scipy import stats

import rota
from rota.draws import Queue
from rota.errors import RotaError
from rota.mixing import Mix
from rota.runlog import Run
from rota.seeds import generator

NEW = {"d": [3000 + row for row in range(7)]}
ALL = {**DATA, **NEW}
NAN = float("nan")


def over(*names):
    return rota.Exp3S(list(names), eta=0.3)


def add_d(mix):
    mix.add(NEW, over(*mix.sizes, "d"))


def remove_c(mix):
    mix.remove("c", over(*(task for task in mix.sizes if task != "c")))


CHANGES = {13: [add_d], 26: [remove_c]}


def by_hand(lag, updates, changes):
    """Policies, generators and queues in a loop: the old policy draws `lag` updates more, then the new one has taken
    over."""
    policy, rng = bandit(), generator(3, "choice")
    queues = {task: Queue(task, len(own), 4, 3) for task, own in ALL.items()}
    told, last, seen, drawn, waiting = [], {}, [], [], []
    pending = sorted((at + lag, names) for at, names in changes)
    for step in range(updates):
        while pending and pending[0][0] == step:
            new = over(*pending.pop(0)[1])
            new.take_over(policy)
            policy = new
            last = {task: loss for task, loss in last.items() if task in policy.tasks}
        if step - 1 - lag >= 0:
            choice, loss = told[step - 1 - lag]
            if choice.task in policy.tasks:
                gain = last.get(choice.task, loss) - loss
                last[choice.task] = loss
                policy.observe(choice.scored(gain))
        choice = policy.choose(step, rng)
        rows = [ALL[choice.task][row] for row in queues[choice.task].next()]
        told.append((choice, loss_of(rows)))
        seen.append((choice.task, rows))
    del drawn, waiting
    return seen


@pytest.mark.parametrize("lag", [0, 4])
def test_decisions_are_those_of_a_loop_by_hand(lag):
    found = changed(make(lag=lag), 60, CHANGES)
    assert found == by_hand(lag, 60, [(13, [*NAMES, "d"]), (26, ["a", "b", "d"])])
    assert "d" not in {task for task, _ in found[: 13 + lag]}
    assert "d" in {task for task, _ in found[13 + lag :]}
    assert "c" not in {task for task, _ in found[26 + lag :]}


@pytest.mark.parametrize("ahead", [1, 3, 4])
def test_a_loader_that_reads_ahead_does_not_move_the_change(ahead):
    assert changed(make(lag=4), 60, CHANGES, ahead) == changed(make(lag=4), 60, CHANGES)


def test_with_accumulation_an_update_has_rows_of_one_source():
    mix = make(accumulation=2, lag=2)
    found = changed(mix, 60, {14: [add_d], 31: [remove_c]})  # the second one in the middle of an update
    assert (
        all(first[0] == second[0] for first, second in itertools.batched(found, 2))
        if sys.version_info
        >= (
            3,
            12,
        )
        else all(found[k][0] == found[k + 1][0] for k in range(0, 60, 2))
    )
    assert found == changed(make(accumulation=2, lag=2), 60, {14: [add_d], 31: [remove_c]}, ahead=4)


def test_before_the_first_draw_a_change_holds_at_once():
    mix, built = make(), Mix(ALL, over(*NAMES, "d"), batch_size=4, seed=3)
    add_d(mix)
    assert trained(mix, 30) == trained(built, 30)


# Saved and loaded


def test_a_state_after_the_change_goes_on_in_a_mix_of_the_new_set():
    whole = changed(make(lag=4), 80, CHANGES)
    first = make(lag=4)
    seen = changed(first, 45, CHANGES)
    second = Mix({task: ALL[task] for task in "abd"}, over("a", "b", "d"), batch_size=4, seed=3, lag=4)
    second.load_state_dict(saved(first))
    assert seen + trained(second, 35) == whole


def test_a_source_with_updates_under_way_must_be_at_hand():
    first = make(lag=4)
    while True:  # until rows of c are drawn and not trained on
        trained(first, 1)
        remove = saved(first)
        if "c" in {part[0] for own in remove["open"]["decisions"] for part in own["parts"]}:
            break
        probe = make(lag=4)
        probe.load_state_dict(remove)
        remove_c(probe)
        if "c" in probe._open.tasks:
            remove_c(first)
            break
    built = Mix({task: DATA[task] for task in "ab"}, over("a", "b"), batch_size=4, seed=3, lag=4)
    with pytest.raises(RotaError, match=r"updates under way of 'c', which has left, expects its 5 rows\. Found none"):
        built.load_state_dict(saved(first))
    again = make(lag=4)
    remove_c(again)
    again.load_state_dict(saved(first))
    assert trained(again, 30) == trained(first, 30)


def test_states_of_the_other_set_are_refused_and_both_are_named():
    before = make()
    trained(before, 5)
    after = make()
    add_d(after)
    with pytest.raises(RotaError, match=r"own sources a, b, c, d\. Found one over a, b, c\. Load it into a mix of"):
        after.load_state_dict(saved(before))


@given(data=st.data(), lag=st.sampled_from([0, 4]), accumulation=st.sampled_from([1, 2]))
@settings(max_examples=40, deadline=None)
def test_any_sequence_of_changes_saved_anywhere_goes_on_exactly(data, lag, accumulation):
    """Changes at random places, saved and loaded at random places, against a twin that is never interrupted."""
    sources = {name: [1000 * k + row for row in range(5 + 3 * k)] for k, name in enumerate("abcdef")}
    options = {"batch_size": 2, "seed": 1, "lag": lag, "accumulation": accumulation}
    twin = Mix({name: sources[name] for name in "abc"}, over(*"abc"), **options)
    mix, left = Mix({name: sources[name] for name in "abc"}, over(*"abc"), **options), set()
    for _ in range(data.draw(st.integers(1, 6))):
        present = list(twin.sizes)
        kind = data.draw(st.sampled_from(["add", "remove", "save", "train"]))
        fresh = [name for name in sources if name not in present and name not in left]
        if kind == "add" and fresh:
            for own in (twin, mix):
                own.add({fresh[0]: sources[fresh[0]]}, over(*present, fresh[0]))
        elif kind == "remove" and len(present) > 1:
            gone = data.draw(st.sampled_from(present))
            left.add(gone)
            counted = {task: n for task, n in saved(twin)["draws"]["consumed"].items() if task != gone}
            for own in (twin, mix):
                own.remove(gone, over(*(name for name in present if name != gone)))
            assert all(saved(twin)["draws"]["consumed"][task] >= n for task, n in counted.items())
        elif kind == "save":
            again = Mix(
                {name: sources[name] for name in [*present, *sorted(left)]}, over(*present, *sorted(left)), **options
            )
            if left:
                again.remove(sorted(left), over(*present))
            again.load_state_dict(saved(mix))
            mix = again
        assert sum(twin.shares().values()) == pytest.approx(1.0)
        batches = data.draw(st.integers(0, 9))
        assert trained(mix, batches) == trained(twin, batches) if batches else True
    assert saved(mix) == saved(twin)


# Rows


def test_row_numbers_that_were_handed_out_stay_valid():
    mix = make(lag=4)
    batches = list(itertools.islice(iter(mix), 3))
    before = [rows_in(mix, batch) for batch in batches]
    add_d(mix)
    remove_c(mix)
    assert [rows_in(mix, batch) for batch in batches] == before
    assert len(mix.dataset) == sum(SIZES.values()) + 7


def test_a_source_that_comes_back_begins_anew_once_nothing_of_it_is_under_way():
    mix = make(lag=2)
    changed(mix, 20, {10: [lambda own: own.remove("a", over("b", "c"))]})
    mix.add({"a": DATA["a"]}, over("b", "c", "a"))
    found = [rows for task, rows in trained(mix, 40) if task == "a"]
    assert found[0] == [DATA["a"][row] for row in Queue("a", 37, 4, 3).next()]
    mix.remove("a", over("b", "c"))
    if "a" in mix._deciding.in_use:
        with pytest.raises(RotaError, match="Found a, which has left and has updates that were drawn before"):
            mix.add({"a": DATA["a"]}, over("b", "c", "a"))


def test_rows_by_a_column_may_leave_but_not_come():
    names = np.array(["x", "y", "z"] * 6)
    mix = Mix(list(range(18)), over("x", "y", "z"), 2, by=names, lag=0)
    mix.remove("y", over("x", "z"))
    assert {names[index] for batch in itertools.islice(_told(mix), 12) for index in batch} == {"x", "z"}
    with pytest.raises(RotaError, match="one data set with a column"):
        mix.add({"w": [1, 2]}, over("x", "z", "w"))


def _told(mix):
    while True:
        for batch in mix:
            yield batch
            mix.tell(0.5)


@pytest.mark.filterwarnings("ignore:The loss of task", "ignore:Source 'b' is parked")
def test_draws_follow_the_logged_probabilities_over_a_long_run(tmp_path):
    mix = make(log=tmp_path / "r", lag=4, park_after=2)
    for k, batch in enumerate(itertools.islice(_endless(mix), 3000)):
        rows = rows_in(mix, batch)
        mix.tell(NAN if 1000 <= k < 1400 and mix.current.task == "b" else loss_of(rows))
        if k == 500:
            add_d(mix)
        elif k == 1800:
            mix.unpark("b")
        elif k == 2200:
            remove_c(mix)
    mix.close()
    steps = Run(tmp_path / "r").lines("step")
    hits = {task: [0.0, 0.0, 0.0] for task in ALL}
    policy_by_step = {line["step"]: line for line in steps}
    assert len(policy_by_step) == 3000
    # Horvitz-Thompson: Σ 1{drawn} / p counts the steps at which a source could be drawn; its variance is Σ (1 / p − 1).
    present = {"a": 3000, "b": None, "c": 2201 + 4, "d": 3000 - 501 - 4}
    for line in steps:
        hits[line["task"]][0] += 1 / line["probability"]
        hits[line["task"]][1] += (1 / line["probability"] - 1) / line["probability"]
    chi = sum((hits[task][0] - n) ** 2 / hits[task][1] for task, n in present.items() if n)
    assert stats.chi2.sf(chi, df=3) > 1e-4


def _endless(mix):
    while True:
        yield from mix


# The log


def test_changes_are_in_the_log_before_the_line_of_their_step(tmp_path):
    mix = make(log=tmp_path / "r", lag=3)
    changed(mix, 50, CHANGES)
    mix.close()
    run = Run(tmp_path / "r")
    lines = run.lines("step", "tasks")
    events = [(k, line) for k, line in enumerate(lines) if line["kind"] == "tasks"]
    assert [(line["step"], line["added"], line["dropped"]) for _, line in events] == [(16, ["d"], []), (29, [], ["c"])]
    assert all(lines[k + 1]["step"] == line["step"] == lines[k - 1]["step"] + 1 for k, line in events)
    assert all(sum(line["mixture"].values()) == pytest.approx(1.0) for _, line in events)
    again = changed(make(lag=3), 50, CHANGES)
    starts = {task: own[0] for task, own in ALL.items()}
    for line, (task, rows) in zip(run.lines("step"), again, strict=True):
        assert [starts[task] + row for row in run.row_ids(task, line)] == rows
    left = [line for line in run.lines("step") if line["step"] >= 26 and line["task"] == "c"]
    assert all(line["loss"] is not None for line in left)


@pytest.mark.parametrize("stop", [14, 20, 33, 45])
def test_a_resumed_log_has_the_same_bytes(tmp_path, stop):
    whole = make(log=tmp_path / "whole", lag=4)
    changed(whole, 60, CHANGES)
    whole.close()
    first = make(log=tmp_path / "cut", lag=4)
    changed(first, stop, CHANGES)
    state = saved(first)
    changed(first, 3, {}, seen=stop)  # and then it dies
    first.log.sync()
    if stop == 45:
        second = Mix({task: ALL[task] for task in "abd"}, over("a", "b", "d"), 4, seed=3, lag=4, log=tmp_path / "cut")
    else:
        second = make(log=tmp_path / "cut", lag=4)
        for at, changes in CHANGES.items():
            for do in changes if at <= stop else ():
                do(second)
    second.load_state_dict(state)
    changed(second, 60 - stop, CHANGES, seen=stop)
    second.close()
    assert (tmp_path / "whole" / "log.jsonl").read_bytes() == (tmp_path / "cut" / "log.jsonl").read_bytes()


# Workers and processes

WORKERS = """
import sys, warnings
warnings.filterwarnings("ignore")
sys.path[:0] = sys.argv[1:]
from mix_tools import loss_of, make
from test_mix_sources import add_d, remove_c

def through(workers, policy=None, **options):
    mix, seen = make(policy, lag=8), []
    loader = mix.loader(num_workers=workers, **options)
    while len(seen) < 60:
        for batch in loader:
            seen.append((mix.current.task, batch.tolist()))
            mix.tell(loss_of(batch.tolist()))
            if len(seen) == 13: add_d(mix)
            if len(seen) == 35: remove_c(mix)
            if len(seen) == 60: break
    return seen

whole = through(0)
print(whole == through(2) == through(2, persistent_workers=True), "d" in {task for task, _ in whole})
"""


def test_workers_see_the_new_source_and_decide_alike():
    """In a process of its own: loaders fork, and a process of pytest's has threads."""
    command = [sys.executable, "-c", WORKERS, str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "True"], done.stderr


def test_a_copy_of_the_rows_from_before_says_what_to_do():
    mix = make()
    with pytest.raises(RotaError, match=r"row numbers below 53\. Found 53: a source was added after the workers"):
        mix.dataset.__getitems__([53])


def test_two_processes_make_the_same_change():
    mixes = [make(bandit(), rank=rank, world=2, batch_size=2, partial="fill") for rank in (0, 1)]
    one, seen = make(partial="fill"), []
    for step in range(50):
        rows = [row for mix in mixes for row in rows_in(mix, next(iter(mix)))]
        seen.append((mixes[0].current.task, rows))
        for mix in mixes:
            mix.tell(loss_of(rows), reduced=True)
            for do in CHANGES.get(step + 1, ()):
                do(mix)
    assert seen == changed(one, 50, CHANGES)
    assert saved(mixes[0]) == saved(mixes[1])


# Blends and streams


def test_a_blend_has_rows_of_the_new_source():
    mix = make(rota.uniform(NAMES), blend=True, batch_size=16, lag=0, epoch=50)
    seen = []
    for k, batch in enumerate(mix):
        rows = rows_in(mix, batch)
        seen.append({row // 1000 for row in rows})
        mix.tell({NAMES[source] if source < 3 else "d": 0.5 for source in seen[-1]})
        if k == 9:
            mix.add(NEW, rota.uniform([*NAMES, "d"]))
        elif k == 29:
            mix.remove("a", rota.uniform(["b", "c", "d"]))
    assert 3 not in set().union(*seen[:10])
    assert sum(3 in own for own in seen[10:]) > 30
    assert 0 not in set().union(*seen[30:])


class Numbers:
    def __init__(self, first, size):
        self.first, self.size = first, size

    def __iter__(self):
        return iter(range(self.first, self.first + self.size))


def test_streams_come_and_go_and_are_gone_on_with():
    streams = {task: Numbers(own[0], len(own)) for task, own in ALL.items()}
    added = {"d": streams["d"]}

    def built(names):
        return Mix({task: streams[task] for task in names}, over(*names), 4, epoch=80, lag=2)

    def through(mix, batches, seen):
        for rows in mix.rows():
            seen.append((mix.current.task, rows))
            mix.tell(loss_of(rows))
            if len(seen) == 10:
                mix.add(added, over(*"abcd"))
            elif len(seen) == 20:
                mix.remove("c", over(*"abd"))
            if len(seen) == batches:
                return seen

    whole = through(built("abc"), 50, [])
    assert {task for task, _ in whole[22:]} == {"a", "b", "d"}
    first = built("abc")
    seen = through(first, 33, [])
    second = built("abd")
    second.load_state_dict(saved(first))
    assert through(second, 50, seen) == whole
    with pytest.raises(RotaError, match=r"expects streams, as this mix has\. Found rows by number for e"):
        second.add({"e": [1, 2]}, over(*"abde"))


# Parked


def poisoned(mix, batches, bad="b", until=10**9):
    seen = []
    while len(seen) < batches:
        for batch in mix:
            current = mix.current
            seen.append(current)
            broken = current.task == bad and current.number < until
            mix.tell(NAN if broken else loss_of(rows_in(mix, batch)))
            if len(seen) == batches:
                break
    return seen


@pytest.mark.filterwarnings("ignore:The loss of task")
@pytest.mark.parametrize("lag", [0, 4])
def test_a_source_without_numbers_is_parked_and_the_others_share_its_updates(tmp_path, lag):
    mix = make(rota.Fixed({"a": 0.5, "b": 0.3, "c": 0.2}), listen=(), lag=lag, park_after=3, log=tmp_path / "r")
    with pytest.warns(UserWarning, match=r"Source 'b' is parked from update \d+ on: its last 3 losses are no numbers"):
        seen = poisoned(mix, 60)
    third = [batch.number for batch in seen if batch.task == "b"][2]
    first = third + 1 + lag
    assert "b" not in {batch.task for batch in seen[first:]}
    assert all(batch.choice.probability == {"a": 0.5, "b": 0.3, "c": 0.2}[batch.task] for batch in seen[:first])
    shares = {"a": 0.5 / 0.7, "c": 0.2 / 0.7}
    assert all(batch.choice.probability == pytest.approx(shares[batch.task]) for batch in seen[first:])
    assert mix.shares() == pytest.approx({**shares, "b": 0.0})
    assert list(mix.parked) == ["b"]
    mix.unpark("b")
    assert mix.parked == {}
    later = poisoned(mix, 60, until=0)
    assert "b" not in {batch.task for batch in later[:lag]}
    assert "b" in {batch.task for batch in later[lag:]}
    mix.close()
    lines = Run(tmp_path / "r").lines("parked", "unparked")
    assert [(line["kind"], line["step"], line["task"]) for line in lines] == [
        ("parked", first, "b"),
        ("unparked", 60 + lag, "b"),
    ]
    assert lines[0]["reason"] == "its last 3 losses are no numbers (nan)"


@pytest.mark.filterwarnings("ignore:The loss of task", "ignore:Source 'b' is parked")
@pytest.mark.parametrize("stop", [3, 9, 14, 30])
def test_what_is_parked_and_counted_is_in_the_state(stop):
    whole = poisoned(make(park_after=2), 60)
    first = make(park_after=2)
    seen = poisoned(first, stop)
    second = make(park_after=2)
    second.load_state_dict(saved(first))
    assert seen + poisoned(second, 60 - stop) == whole
    with pytest.raises(RotaError, match=r"the park_after that its state has, 2\. Found None"):
        make().load_state_dict(saved(first))


@pytest.mark.filterwarnings("ignore:The loss of task")
def test_a_number_in_between_begins_the_count_anew():
    mix, odd = make(rota.uniform(NAMES), listen=(), lag=0, park_after=2), 0
    for batch in itertools.islice(_endless(mix), 90):
        odd += mix.current.task == "b"
        mix.tell(NAN if mix.current.task == "b" and odd % 2 else loss_of(rows_in(mix, batch)))
    assert mix.parked == {}
    assert mix.unheard > 10


@pytest.mark.filterwarnings("ignore:The loss of task", "ignore:Source")
def test_where_all_are_parked_it_is_said():
    mix = make(rota.uniform(NAMES), listen=(), lag=0, park_after=1)
    with pytest.raises(RotaError, match=r"Found all of them parked: .*mix\.unpark\(name\)"):
        collections.deque((mix.tell(NAN) for _ in _endless(mix)), maxlen=0)


WRONG = {
    "another kind": (lambda: make().add(NEW, rota.uniform([*NAMES, "d"])), "expects to take over from Fixed"),
    "other names": (lambda: make().add(NEW, over("a", "d")), "policy over its own data sets a, b, c, d"),
    "known": (lambda: make().add({"a": [1]}, bandit()), "expects new names. Found a"),
    "no rows": (lambda: make().add({"d": []}, over(*NAMES, "d")), "Found none in d"),
    "no names": (lambda: make().add([1, 2], bandit()), "data sets by name"),
    "unknown": (lambda: make().remove("e", bandit()), "Unknown source 'e'"),
    "all": (lambda: make().remove(NAMES, bandit()), "expects some of a, b, c. Found all"),
    "none": (lambda: make().remove([], bandit()), "Found none of them"),
    "no batch size": (
        lambda: make(batch_size=dict.fromkeys(NAMES, 4)).add(NEW, over(*NAMES, "d")),
        "a batch size for each of d",
    ),
    "too few to drop": (lambda: make(partial="drop").add({"d": [1]}, over(*NAMES, "d")), "one whole batch of 4"),
    "not parked": (lambda: make(park_after=2).unpark("a"), r"Found 'a', where nobody is parked"),
    "turns": (lambda: make(rota.Hold(bandit(), 3), park_after=2), "may be mixed. Found Hold"),
    "no number": (lambda: make(park_after=0), "park_after of 1 or more. Found 0"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_changes_are_one_sentence_and_change_nothing(case):
    do, sentence = WRONG[case]
    with pytest.raises(RotaError, match=sentence):
        do()
