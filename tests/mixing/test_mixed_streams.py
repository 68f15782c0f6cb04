"""Streams: read in the training process, from a place that is saved as that of the last row that was trained on."""

from __future__ import annotations

import datasets
import pytest
from mix_tools import NAMES, SIZES, bandit, loss_of, read_ahead, saved

import rota
from rota.errors import RotaError
from rota.mixing import Mix


class Counted:
    """A stream without any memory of its own; its rows differ from pass to pass."""

    def __init__(self, first, size):
        self.first, self.size, self.epoch, self.read = first, size, 0, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        for row in range(self.size):
            self.read += 1
            yield self.first + (row + self.epoch) % self.size


def plain():
    return {task: Counted(1000 * k, size) for k, (task, size) in enumerate(SIZES.items())}


def of_the_hub():
    found = {}
    for task, stream in plain().items():
        rows = datasets.Dataset.from_dict({"x": list(stream)}).to_iterable_dataset(num_shards=2)
        found[task] = rows.shuffle(seed=5, buffer_size=1)
    return found


def make(streams, **options):
    return Mix(streams(), bandit(), **{"batch_size": 4, "epoch": 40, "lag": 2, **options})


def trained(mix, batches, ahead=0):
    seen = []
    for rows in read_ahead(mix.rows(), ahead):
        values = [row if isinstance(row, int) else row["x"] for row in rows]
        seen.append((mix.current.task, values))
        mix.tell(loss_of(values))
        if len(seen) == batches:
            break
    return seen


@pytest.mark.parametrize("streams", [plain, of_the_hub])
@pytest.mark.parametrize("ahead", [0, 2])
def test_interrupted_and_resumed_is_never_interrupted(streams, ahead):
    whole = trained(make(streams), 40)
    for stop in (1, 7, 12, 23):
        first = make(streams)
        seen = trained(first, stop, ahead)
        second = make(streams)
        second.load_state_dict(saved(first))
        seen += trained(second, 5, ahead)
        third = make(streams)  # twice in a row
        third.load_state_dict(saved(second))
        assert seen + trained(third, 35 - stop) == whole


def test_a_pass_ends_and_the_next_one_begins():
    mix = Mix({"a": Counted(0, 5)}, rota.uniform(["a"]), 2, epoch=5)
    rows = [row for batch in mix.loader(collate_fn=list) for row in batch]
    assert rows == [0, 1, 2, 3, 4, 1, 2, 3, 4, 0]


def test_a_loader_reads_them_and_hears():
    mix = make(plain)
    seen = []
    for batch in mix.loader(collate_fn=list):
        seen.append((mix.current.task, batch))
        mix.tell(loss_of(batch))
    assert seen == trained(make(plain), 40)
    assert len(mix.loader()) == 40


def test_processes_share_each_update():
    one = [rows for _, rows in trained(make(plain, listen=()), 40)]
    both = [make(plain, batch_size=2, rank=rank, world=2, listen=()) for rank in (0, 1)]
    parts = [[rows for _, rows in trained(mix, 40)] for mix in both]
    assert [left + right for left, right in zip(*parts, strict=True)] == one


def test_a_stream_that_can_be_asked_is_not_read_again():
    first = make(of_the_hub)
    trained(first, 20)
    state = saved(first)["streams"]
    assert all(own["own"] is not None for own in state.values() if own["row"])


WRONG = {
    "no epoch": (lambda: Mix(plain(), rota.uniform(NAMES)), "expects epoch="),
    "an iterator": (lambda: Mix({"a": iter([1])}, rota.uniform(["a"]), epoch=3), "used up after one pass"),
    "a bit of both": (
        lambda: Mix({"a": [1, 2], "b": Counted(0, 3)}, rota.uniform(["a", "b"]), epoch=3),
        r"not both\. Found streams for b",
    ),
    "neither": (lambda: Mix({"a": 7}, rota.uniform(["a"])), "Found a int for 'a'"),
    "workers": (lambda: make(plain).loader(num_workers=2), "read in the training process"),
    "empty": (lambda: list(Mix({"a": Counted(0, 0)}, rota.uniform(["a"]), epoch=3).rows()), "Found none in 'a'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_streams_are_one_sentence(case):
    do, sentence = WRONG[case]
    with pytest.raises(RotaError, match=sentence):
        do()
