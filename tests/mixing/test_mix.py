"""A mix decides alike whatever the loader does, and goes on as if it had never stopped."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mix_tools import DATA, NAMES, SIZES, bandit, loss_of, make, read_ahead, rows_in, saved, trained

import rota
from rota.draws import Queue
from rota.errors import RotaError
from rota.mixing import Mix, join, rows_by
from rota.seeds import generator
from rota.sources import EachStep

POLICIES = {
    "exp3s": bandit,
    "auto": lambda: rota.Auto(NAMES, horizon=60, sizes=SIZES, every=7, batch_size=4),
    "root of sizes": lambda: rota.Tempered(SIZES, 0.5),
    "union": lambda: rota.Union({task: -(-size // 4) for task, size in SIZES.items()}),
    "held": lambda: rota.Hold(bandit(), 3),
}


@pytest.mark.parametrize("name", POLICIES)
def test_decisions_are_those_of_a_loop_by_hand(name):
    """A loop that draws with the same generators and hears each loss `lag` updates late."""
    mix, lag = make(POLICIES[name](), lag=2), 2
    policy, rng, heard, last = POLICIES[name](), generator(3, "choice"), [], {}
    queues = {task: Queue(task, size, 4, 3) for task, size in SIZES.items()}
    for step, (task, rows) in enumerate(trained(mix, 60)):
        if step - 1 - lag >= 0:
            choice, loss = heard[step - 1 - lag]
            gain = last.get(choice.task, loss) - loss
            last[choice.task] = loss
            if policy.hears:
                policy.observe(choice.scored(loss if "loss" in policy.hears else gain))
        choice = policy.choose(step, rng)
        assert choice.task == task
        assert rows == [DATA[task][row] for row in queues[task].next()]
        heard.append((choice, loss_of(rows)))


@given(
    name=st.sampled_from(list(POLICIES)),
    accumulation=st.sampled_from([1, 2, 3]),
    lag=st.integers(0, 5),
    ahead=st.lists(st.integers(0, 12), min_size=3, max_size=3),
    stops=st.lists(st.integers(1, 40), max_size=2),
    partial=st.sampled_from(["short", "fill"]),
)
@settings(max_examples=60, deadline=None)
def test_interrupted_and_resumed_is_never_interrupted(name, accumulation, lag, ahead, stops, partial):
    options = {"accumulation": accumulation, "lag": lag, "partial": partial}
    whole = trained(make(POLICIES[name](), **options), 48)
    limit, seen, state = lag * accumulation, [], None
    for reads, stop in zip(ahead, [*sorted(stops), 48], strict=False):
        mix = make(POLICIES[name](), **options)
        if state is not None:
            mix.load_state_dict(state)
        seen += trained(mix, stop - len(seen), min(reads, limit))
        state = saved(mix)
    assert seen == whole[: len(seen)]


def test_a_broken_off_iteration_is_gone_on_with():
    mix, seen = make(lag=3), []
    for _ in range(6):
        for batch in read_ahead(mix, 3):
            rows = rows_in(mix, batch)
            seen.append((mix.current.task, rows))
            mix.tell(loss_of(rows))
            if len(seen) % 7 == 0:
                break
    assert seen == trained(make(lag=3), len(seen))


def test_an_epoch_has_as_many_batches_as_all_data_sets():
    mix = make(rota.uniform(NAMES))
    assert len(mix) == 10 + 3 + 2
    assert len(list(mix)) == len(list(mix)) == 15
    assert len(make(epoch=7, accumulation=2)) == 14
    assert sum(1 for _ in make(rota.uniform(NAMES), epoch=7, accumulation=2)) == 14


def test_policies_that_hear_nothing_need_not_be_told():
    """Iterations that go to their end were trained on; with the loader of the mix broken-off ones as well."""
    told = trained(make(POLICIES["root of sizes"]()), 45)
    quiet = make(POLICIES["root of sizes"]())
    assert [rows_in(quiet, batch) for _ in range(3) for batch in quiet] == [rows for _, rows in told]
    seen, mix = [], make(POLICIES["root of sizes"]())
    for _ in range(9):
        seen += [batch.tolist() for batch in itertools.islice(mix.loader(), 5)]
    assert seen == [rows for _, rows in told]
    assert len(mix.state_dict()["open"]["decisions"]) <= 4


def test_the_state_does_not_grow():
    mix, sizes = make(), []
    for batches in (40, 400):
        trained(mix, batches)
        sizes.append(len(str({**saved(mix), "policy": None})))  # a policy has its own memory
    assert sizes[1] < 1.1 * sizes[0]


# Workers


WORKERS = """
import sys, warnings
warnings.filterwarnings("ignore")
sys.path[:0] = sys.argv[1:]
from mix_tools import loss_of, make

def through(workers):
    mix, seen = make(lag=8), []
    for batch in mix.loader(num_workers=workers):
        seen.append((mix.current.task, batch.tolist()))
        mix.tell(loss_of(batch.tolist()))
    return seen

print(through(0) == through(2) == through(4), len(through(0)))
"""


def test_workers_decide_alike():
    """In a process of its own: loaders fork, and a process of pytest's has threads."""
    command = [sys.executable, "-c", WORKERS, str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "15"], done.stderr


def test_the_generator_of_the_training_is_left_alone():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    for batch in make().loader():
        assert len(batch)
        break
    assert torch.equal(before, torch.get_rng_state())


def test_a_collator_for_each_task():
    collate = {task: (lambda rows, task=task: (task, rows)) for task in NAMES}
    mix = make(rota.uniform(NAMES))
    for (task, rows), batch in zip(mix.loader(collate_fn=collate), make(rota.uniform(NAMES)), strict=False):
        assert rows == rows_in(mix, batch)
        assert set(rows) <= set(DATA[task])


# Processes


def slices(world, accumulation, batch_size, batches, state=None, **options):
    """The rows of all processes together, update by update."""
    mixes = [
        make(
            POLICIES["root of sizes"](),
            rank=rank,
            world=world,
            accumulation=accumulation,
            batch_size=batch_size,
            **options,
        )
        for rank in range(world)
    ]
    for mix in mixes:
        if state:
            mix.load_state_dict(state)
    found = []
    for _ in range(batches):
        together = []
        for mix in mixes:
            for batch in itertools.islice(mix, accumulation):
                together.append((mix.current.task, rows_in(mix, batch)))
                mix.tell(0.5, reduced=True)
        found.append(together)
    return found, mixes


@pytest.mark.parametrize("partial", ["short", "fill", "drop"])
def test_any_number_of_processes_trains_on_the_same_rows(partial):
    def rows(world, accumulation, batch_size):
        found, _ = slices(world, accumulation, batch_size, 40, partial=partial)
        for together in found:
            assert len({task for task, _ in together}) == 1
        whole = [sorted({row for _, own in together for row in own}) for together in found]
        return whole if partial != "fill" else [sorted(row for _, own in together for row in own) for together in found]

    one = rows(1, 1, 4)
    assert rows(2, 1, 2) == rows(4, 1, 1) == rows(2, 2, 1) == one


@pytest.mark.parametrize("world", [1, 4])
def test_two_processes_go_on_as_one_or_four(world):
    whole, _ = slices(1, 1, 4, 30)
    _, mixes = slices(2, 1, 2, 13)
    assert saved(mixes[0]) == saved(mixes[1])
    rest, _ = slices(world, 1, 4 // world, 17, saved(mixes[0]))
    assert [sorted({row for _, own in one for row in own}) for one in rest] == [sorted(one[0][1]) for one in whole[13:]]


def test_padding_counts_nothing():
    """Of a last batch with one row, the second process has nothing but a copy that does not count."""
    data = {"a": [0, 1, 2, 3, 4]}
    mixes = [Mix(data, rota.Auto(["a"]), 2, rank=rank, world=2, lag=0) for rank in (0, 1)]
    counted = []
    for mix in mixes:
        found = iter(mix)
        next(found)
        mix.tell(1.0, reduced=True)
        last = next(found)
        assert len(last) == 1
        decision = mix._open._open[0]
        counted.append(mix._drawing.counted(decision, mix._dealing.own[0]))
    assert counted == [{"a": 1}, {"a": 0}]


def test_a_host_that_deals_out_batches_gives_each_process_its_own():
    mixes = [make(POLICIES["root of sizes"](), rank=rank, world=2, partial="fill", batch_size=2) for rank in (0, 1)]
    dealt = make(POLICIES["root of sizes"](), rank=0, world=2, host_shards=True, batch_size=2)
    assert dealt.partial == "fill"
    assert len(dealt) == 2 * len(mixes[0])
    together = list(dealt)
    assert together[0::2] == list(mixes[0])
    assert together[1::2] == list(mixes[1])


# Feedback


def test_a_tensor_is_read_when_it_is_due_and_not_when_it_is_told():
    """A buffer that is overwritten after `tell` does not change what was told, and no graph is kept."""
    mix, buffer = make(rota.Auto(NAMES), lag=1), torch.zeros((), requires_grad=True)
    batches, heard = iter(mix), []
    mix.policy.learn = lambda k, feedback: heard.append(feedback.value)
    for value in (0.5, 0.25, 0.125):
        next(batches)
        with torch.no_grad():
            buffer.fill_(value)
        mix.tell(buffer * 1.0)
    next(batches)
    assert heard == [0.5, 0.25]


def test_an_update_of_several_batches_has_their_mean_by_rows():
    data = {"a": list(range(5))}
    mix, heard = Mix(data, rota.Auto(["a"]), 2, accumulation=2, lag=0), []
    mix.policy.learn = lambda k, feedback: heard.append(feedback.value)
    losses = iter([1.0, 3.0, 7.0, 100.0, 0.0])
    for _ in range(2):
        for _batch in mix:
            mix.tell(next(losses))
            if mix.updates == 2:
                break
    next(iter(mix))
    assert heard == [2.0, 7.0]  # the second update has one row: its other batch is padding


def test_reports_queue_behind_the_losses_that_were_told_before():
    def heard_by(ahead):
        policy, heard = rota.AutoDev(NAMES), []
        policy.learn = lambda k, feedback: heard.append((feedback.about, feedback.value))
        mix = make(policy, lag=6)
        for seen, batch in enumerate(read_ahead(mix, ahead), start=1):
            mix.tell(loss_of(rows_in(mix, batch)))
            if seen % 4 == 0:
                mix.observe({"a": seen / 100}, about="score")
        return heard

    whole = heard_by(0)
    assert whole[:6] == heard_by(6)[:6]
    assert [word for word, _ in whole][:6] == ["loss"] * 4 + ["score", "loss"]


def test_missing_values_are_named_and_do_not_shift_the_queue():
    mix = make(lag=2)
    batches = iter(mix)
    for _ in range(3):
        next(batches)
    task = mix.current.task
    with pytest.raises(RotaError, match=rf"Update 3 expects to have heard of update 0.*batch 0 \(task '{task}'\)"):
        next(batches)
    mix.skip()
    batches = iter(mix)
    assert mix.current.number == 1
    mix.tell(0.5, number=2)
    mix.tell(0.25)
    assert mix.updates == 3


def test_what_is_no_number_is_counted_and_said_once():
    mix = make(lag=0)

    def train():
        for number, _ in enumerate(mix):
            mix.tell(float("nan") if number < 3 else 0.5)

    with pytest.warns(UserWarning, match=r"The loss of task '.' in update 0 is nan: the policy does not hear it"):
        train()
    assert mix.unheard == 3
    assert saved(mix)["hearing"]["unheard"] == 3


def test_a_measure_of_ones_own_and_told_gains():
    mix = make(listen=lambda view: 2 * view.loss)
    heard = []
    mix.policy.learn = lambda k, feedback: heard.append((feedback.about, feedback.value))
    trained(mix, 6)
    assert {word for word, _ in heard} == {"gain"}
    told = make(listen=EachStep("training_loss", says="gain"), lag=0)
    told.policy.learn = lambda k, feedback: heard.append(feedback.value)
    batches = iter(told)
    next(batches)
    told.tell(0.125)
    next(batches)
    assert heard[-1] == 0.125


def test_a_policy_that_nobody_tells_anything_is_named():
    mix = make(rota.Tracking(NAMES), epoch=1100)
    with pytest.raises(RotaError, match=r"Tracking hears uncertainty\. Found no feedback in 1000"):
        list(mix)
    deaf = make(rota.Tracking(NAMES), listen=(), epoch=1100)
    assert sum(1 for _ in deaf) == 1100
    told = make(rota.Tracking(NAMES), epoch=1100)
    told.observe({"a": 0.9, "b": 0.1, "c": 0.1})
    assert sum(1 for _ in told) == 1100
    assert told.shares()["a"] > 0.4


# Rows of several tasks in a batch


def test_a_blend_has_rows_of_several_tasks_and_hears_of_each():
    mix, heard = make(rota.Auto(NAMES), blend=True, batch_size=16, lag=0, epoch=50), []
    mix.policy.learn = lambda k, feedback: heard.append((NAMES[k], feedback.value, feedback.probability))
    counts = dict.fromkeys(NAMES, 0)
    for batch in mix:
        rows = rows_in(mix, batch)
        own = {task: [row for row in rows if row in set(DATA[task])] for task in NAMES}
        for task, mine in own.items():
            counts[task] += len(mine)
        assert mix.current.task is None
        mix.tell({task: loss_of(mine) for task, mine in own.items() if mine})
    assert sum(counts.values()) == 800
    assert all(200 < count < 340 for count in counts.values())
    assert {probability for *_, probability in heard} == {None}


def test_a_blend_goes_on_where_it_stopped():
    whole, first, again = (make(rota.uniform(NAMES), blend=True, epoch=40) for _ in range(3))
    batches = list(whole)
    assert list(itertools.islice(first.loader(collate_fn=list), 15)) == [rows_in(first, own) for own in batches[:15]]
    again.load_state_dict(saved(first))
    assert list(again) == batches[15:]


# Data


def test_rows_by_a_column():
    names = np.array(["x", "y"] * 10 + ["x"])
    assert {name: rows.tolist() for name, rows in rows_by(list(range(21)), names).items()} == {
        "x": [*range(0, 21, 2)],
        "y": [*range(1, 20, 2)],
    }
    mix = Mix(list(range(21)), rota.uniform(["x", "y"]), 3, by=names)
    for batch in mix:
        assert len({names[index] for index in batch}) == 1


def test_joined_data_sets_are_asked_for_a_batch_at_once():
    class Arrow(list):
        asked = 0

        def __getitems__(self, numbers):
            Arrow.asked += 1
            return [self[number] for number in numbers]

    joined = join({"a": Arrow([1, 2, 3]), "b": Arrow([10, 20])})
    rows = joined.__getitems__([3, 4])
    assert (rows, rows.task, Arrow.asked) == ([10, 20], "b", 1)
    assert joined.__getitems__([0, 4]) == [1, 20]
    assert joined.__getitems__([0, 4]).task is None
    with pytest.raises(IndexError):
        _ = joined[5]


def test_batch_sizes_of_ones_own():
    mix = make(rota.uniform(NAMES), batch_size={"a": 5, "b": 2, "c": 1}, partial="fill")
    for batch in mix:
        rows = rows_in(mix, batch)
        assert len(rows) == {0: 5, 1: 2, 2: 1}[rows[0] // 1000]


WRONG = {
    "a name": (lambda: make("exp3s"), r"a policy such as rota\.Exp3S\(\[\"a\", \"b\", \"c\"\]\)\. Found 'exp3s'"),
    "other names": (lambda: make(rota.uniform(["x", "y"])), r"own data sets a, b, c\. Found one over x, y"),
    "no data sets": (lambda: Mix([1, 2], rota.uniform(["a"])), r"data sets by name.*Found list"),
    "empty": (lambda: Mix({"a": []}, rota.uniform(["a"])), r"data sets with rows\. Found none in a"),
    "no column": (
        lambda: Mix({"rows": [1]}, rota.uniform(["a"]), by="source"),
        r"Expected a column 'source'.*Found none",
    ),
    "short column": (lambda: Mix([1, 2, 3], rota.uniform(["a"]), by=["a"]), r"each of 3 rows\. Found 1"),
    "negative lag": (lambda: make(lag=-1), r"lag of 0 or more\. Found -1"),
    "no accumulation": (lambda: make(accumulation=0), r"accumulation of 1 or more\. Found 0"),
    "a batch of none": (lambda: make(batch_size=0), r"batch size of one or more\. Found 0"),
    "batch sizes of others": (lambda: make(batch_size={"a": 1}), r"a batch size for each of a, b, c\. Found a"),
    "too small to drop": (lambda: make(batch_size=8, partial="drop"), r"one whole batch of 8 rows of 'c'.*Found 5"),
    "rank alone": (lambda: make(rank=1), r"rank and world together"),
    "rank too large": (lambda: make(rank=2, world=2), r"a rank below world"),
    "does not say": (lambda: make(type("Silent", (rota.Exp3S,), {"hears": None})(NAMES)), "does not say from what"),
    "another forward": (lambda: make(listen="prediction_gain"), "cannot ask for the loss after the update"),
    "another word": (lambda: make(listen="training_loss"), r"Exp3S hears gain\. Found listen='training_loss'"),
    "a blend of turns": (
        lambda: make(POLICIES["union"](), blend=True),
        r"does not count its own draws\. Found Union",
    ),
    "too many workers": (lambda: make(lag=3).loader(num_workers=2), r"2 workers reads 4 batches ahead.*lag=4"),
    "its own business": (lambda: make().loader(shuffle=True), r"decides about shuffle itself"),
    "tell without a batch": (lambda: make().tell(0.5), "handed out and not told of yet"),
    "a vector": (lambda: first_batch().tell(torch.zeros(3)), r"one number\. Found a tensor of shape \(3,\)"),
    "a word": (lambda: first_batch().tell("low"), r"expects a number.*Found 'low'"),
    "by task": (lambda: first_batch().tell({"a": 1.0}), r"expects one number\. Found \{'a': 1.0\}"),
    "another state": (lambda: make().load_state_dict({}), "expects the state of a mix"),
}


def first_batch():
    mix = make()
    next(iter(mix))
    return mix


@pytest.mark.parametrize("case", WRONG)
def test_wrong_use_is_one_sentence(case):
    do, sentence = WRONG[case]
    with pytest.raises(RotaError, match=sentence):
        do()


def test_a_batch_is_told_of_once():
    mix = first_batch()
    mix.tell(0.5)
    with pytest.raises(RotaError, match="call tell once for each batch"):
        mix.tell(0.5)
    with pytest.raises(RotaError, match="for the second time"):
        mix.tell(0.5, number=0)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"data": {**DATA, "c": DATA["c"][:4]}}, r"the rows that its state has, .*'c': 5.*Found .*'c': 4"),
        ({"batch_size": 8}, "the rows of an update that its state has"),
        ({"partial": "fill"}, "the partial that its state has, short. Found fill"),
        ({"lag": 5}, "the lag that its state has, 4. Found 5"),
        ({"policy": rota.uniform(NAMES)}, "expects the state of Fixed. Found the state of Exp3S"),
    ],
)
def test_a_state_of_another_mix_is_refused(other, sentence):
    mix = make()
    trained(mix, 9)
    with pytest.raises(RotaError, match=sentence):
        make(**other).load_state_dict(saved(mix))


def test_a_state_from_the_middle_of_an_update_expects_the_same_shape():
    mix = make(accumulation=2)
    trained(mix, 5)
    again = make(accumulation=2)
    again.load_state_dict(saved(mix))
    assert trained(again, 4) == trained(mix, 4)
    mix = make(accumulation=2)
    trained(mix, 5)
    with pytest.raises(RotaError, match=r"between two batches of an update expects.*\[2, 1\]\. Found \[1, 1\]"):
        make(batch_size=8).load_state_dict(saved(mix))


@pytest.mark.parametrize("world", [1, 4])
def test_a_policy_that_listens_goes_on_with_other_processes_as_well(world):
    """The mean over an update's rows is the same number, however many processes took part in it."""

    def go_on(world, updates, state=None):
        mixes = [make(bandit(), rank=rank, world=world, batch_size=4 // world, partial="fill") for rank in range(world)]
        seen = []
        for mix in mixes:
            if state:
                mix.load_state_dict(state)
        for _ in range(updates):
            rows = [row for mix in mixes for row in rows_in(mix, next(iter(mix)))]
            seen.append((mixes[0].current.task, rows))
            for mix in mixes:
                mix.tell(loss_of(rows), reduced=True)
        return seen, mixes

    whole, _ = go_on(2, 40)
    first, mixes = go_on(2, 17)
    rest, _ = go_on(world, 23, saved(mixes[1]))
    assert first + rest == whole
