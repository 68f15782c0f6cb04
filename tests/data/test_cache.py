"""Tokens are made once, found again, and made anew when anything changes that they depend on."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from text_tools import assert_refuses, halves, reading_in, tsv, whole_batch, write

from rota.data import Reading, load_tasks
from rota.data._arrays import ArrayWriter, open_arrays
from rota.data._cache import content_of, kept
from rota.data._tokenizer import Tokenizer
from rota.packaged import default_cache

RTE = ["index", "sentence1", "sentence2", "label"]
ROWS = [[0, "the cat", "a cat", "entailment"], [1, "the dog", "it ran", "not_entailment"]]


def files(*more):
    return {"glue/RTE/train.tsv": tsv(RTE, *ROWS, *more), "glue/RTE/dev.tsv": tsv(RTE, *ROWS)}


@pytest.fixture
def reading(tmp_path, tiny_bert):
    write(tmp_path / "data", files())
    return reading_in(tmp_path, tiny_bert)


@pytest.fixture
def tokenised(monkeypatch):
    """How many texts were tokenised so far."""
    counts = []
    load = Tokenizer._load

    def counting(self, **options):
        found = load(self, **options)

        class Counting(type(found)):
            def __call__(self, texts, *args, **kwargs):
                counts.append(len(texts))
                return super().__call__(texts, *args, **kwargs)

        found.__class__ = Counting
        return found

    monkeypatch.setattr(Tokenizer, "_load", counting)
    return lambda: sum(counts)


def entries(folder):
    return sorted(path.parent.name for path in (folder / "cache").glob("*/meta.json"))


def again(reading, **changes):
    return Reading(**{"data": reading.data, "encoder": reading.encoder, "cache": reading.cache} | changes)


def test_what_was_tokenised_is_not_tokenised_again(tmp_path, reading, tokenised):
    (first,) = load_tasks(["rte"], reading)
    assert tokenised() == 4
    (second,) = load_tasks(["rte"], again(reading))
    assert tokenised() == 4
    assert len(entries(tmp_path)) == 2
    for split in ("train", "dev"):
        one, other = whole_batch(first.splits[split]), whole_batch(second.splits[split])
        assert one.inputs["tokens"].equal(other.inputs["tokens"])
        assert one.labels.equal(other.labels)
    assert first.notes == second.notes


def test_counts_are_remembered(tmp_path, reading):
    for _ in range(2):
        (task,) = load_tasks(["rte"], again(reading, longest=8))
        assert task.notes["counted"] == {}
        (task,) = load_tasks(["rte"], again(reading, longest=6))
        assert task.notes["counted"] == {split: {"truncated": 2} for split in ("train", "dev")}


def test_changed_content_makes_another_entry(tmp_path, reading, tokenised):
    load_tasks(["rte"], reading)
    write(tmp_path / "data", files([2, "the bird", "it flew", "entailment"]))
    (task,) = load_tasks(["rte"], again(reading))
    assert task.size() == 3
    assert len(entries(tmp_path)) == 3
    assert tokenised() == 4 + 3  # dev has not changed
    write(tmp_path / "data", files())
    assert load_tasks(["rte"], again(reading))[0].size() == 2
    assert len(entries(tmp_path)) == 3


def test_another_tokenizer_or_length_makes_another_entry(tmp_path, reading, tiny_roberta):
    load_tasks(["rte"], reading)
    load_tasks(["rte"], again(reading, longest=10))
    assert len(entries(tmp_path)) == 4
    (task,) = load_tasks(["rte"], again(reading, encoder=str(tiny_roberta)))
    assert len(entries(tmp_path)) == 6
    assert halves(task.splits["train"], Tokenizer(str(tiny_roberta))) == [("thecat", "acat"), ("thedog", "itran")]
    load_tasks(["rte"], again(reading, longest=500))  # no longer than the encoder's 64 anyway
    assert len(entries(tmp_path)) == 6


def test_a_tokenizer_with_another_word_is_another_one(tmp_path, reading, tiny_bert):
    load_tasks(["rte"], reading)
    shutil.copytree(tiny_bert, tmp_path / "copy")
    load_tasks(["rte"], again(reading, encoder=str(tmp_path / "copy")))
    assert len(entries(tmp_path)) == 2  # the same, whatever its folder is called
    file = tmp_path / "copy" / "tokenizer.json"
    content = json.loads(file.read_text())
    content["model"]["vocab"]["catx"] = content["model"]["vocab"].pop("cat")
    file.write_text(json.dumps(content))
    (task,) = load_tasks(["rte"], again(reading, encoder=str(tmp_path / "copy")))
    assert len(entries(tmp_path)) == 4
    assert task.splits["train"].lengths()[0] > 6


def test_using_a_tokenizer_does_not_change_its_fingerprint(tiny_bert):
    used = Tokenizer(str(tiny_bert))
    used.fast(["the cat"], truncation=True, max_length=3, padding="max_length")
    assert used.fingerprint == Tokenizer(str(tiny_bert)).fingerprint


def test_arrays_stay_on_the_disk(reading):
    (task,) = load_tasks(["rte"], reading)
    arrays = task.splits["train"]._arrays
    assert {type(array) for array in arrays.values()} == {np.memmap}
    batch = whole_batch(task.splits["train"])
    batch.labels[:] = 5  # a batch is a copy
    assert task.splits["train"].labels().tolist() == [0, 1]


PROCESS = """
import sys, time
from pathlib import Path

import numpy as np

from rota.data._cache import kept

here, others = Path(sys.argv[1]), Path(sys.argv[2])

def make(writer):
    with (here.parent / "made").open("a") as file:
        file.write("once\\n")
    time.sleep(0.3)
    writer.add("numbers", np.arange(1000))
    return {"count": 1000}

here.touch()
while not others.exists():  # so that both begin together
    time.sleep(0.001)
arrays, remembered = kept(here.parent / "cache", "a", 1, make)
assert arrays["numbers"].tolist() == list(range(1000))
assert remembered == {"count": 1000}
"""


def test_of_two_processes_that_start_together_one_makes_the_entry(tmp_path):
    names = [tmp_path / "one", tmp_path / "two"]
    workers = [
        subprocess.Popen([sys.executable, "-c", PROCESS, *map(str, order)], stderr=subprocess.PIPE, text=True)
        for order in (names, names[::-1])
    ]
    said = [worker.communicate()[1] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], said
    assert (tmp_path / "made").read_text() == "once\n"
    assert len(entries(tmp_path)) == 1
    assert not list((tmp_path / "cache").glob("tmp-*"))


# The cache itself


def make_numbers(calls, count=3):
    def make(writer):
        calls.append(count)
        writer.add("numbers", np.arange(count))
        return {"count": count}

    return make


def test_what_is_kept_comes_back(tmp_path):
    calls = []
    for _ in range(2):
        arrays, remembered = kept(tmp_path, "a", {"x": 1}, make_numbers(calls))
        assert arrays["numbers"].tolist() == [0, 1, 2]
        assert remembered == {"count": 3}
    assert len(calls) == 1
    kept(tmp_path, "a", {"x": 2}, make_numbers(calls))
    assert len(calls) == 2


def test_half_of_an_entry_is_made_again(tmp_path):
    calls = []
    kept(tmp_path, "a", 1, make_numbers(calls))
    (entry,) = (path for path in tmp_path.iterdir() if path.is_dir())
    (entry / "meta.json").unlink()
    (entry / "numbers.bin").write_bytes(b"half")
    assert kept(tmp_path, "a", 1, make_numbers(calls))[0]["numbers"].tolist() == [0, 1, 2]
    assert len(calls) == 2


def test_what_fails_leaves_nothing_behind(tmp_path):
    def fail(writer):
        writer.add("numbers", np.arange(3))
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        kept(tmp_path, "a", 1, fail)
    assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]
    calls = []
    kept(tmp_path, "a", 1, make_numbers(calls))
    assert len(calls) == 1


def test_empty_arrays_keep_their_shape(tmp_path):
    writer = ArrayWriter(tmp_path)
    assert writer.empty
    writer.add("spans", np.zeros((0, 2, 2), dtype=np.int32))
    assert not writer.empty
    arrays, _ = writer.finish({})
    assert arrays["spans"].shape == (0, 2, 2)
    assert open_arrays(tmp_path)[0]["spans"].dtype == np.int32


def test_pieces_are_put_together_in_files_and_in_memory(tmp_path):
    for writer in (ArrayWriter(tmp_path), ArrayWriter()):
        for k in range(3):
            ends = writer.ends("flat", np.array([k, 1]))
            writer.add("flat", np.full(k + 1, k, dtype=np.int16))
            writer.add("ends", ends)
        arrays, remembered = writer.finish({"a": [1]})
        assert arrays["flat"].tolist() == [0, 1, 1, 2, 2, 2]
        assert arrays["ends"].tolist() == [0, 1, 2, 3, 5, 6]
        assert remembered == {"a": [1]}


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.setenv("ROTA_CACHE", str(tmp_path / "a"))
    assert default_cache() == tmp_path / "a"
    monkeypatch.delenv("ROTA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "rota"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert default_cache() == tmp_path / ".cache" / "rota"


def test_content_depends_on_every_file_and_their_order(tmp_path):
    write(tmp_path, {"a": "1", "b": "2"})
    one, two = tmp_path / "a", tmp_path / "b"
    assert len({content_of(paths) for paths in ([one], [two], [one, two], [two, one])}) == 4
    with assert_refuses("Expected a file that can be read at ", tmp_path / "c", "No such file"):
        content_of([tmp_path / "c"])
