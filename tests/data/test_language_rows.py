"""Texts that go on: which tokens are learned, counted, cut; sources in a column and in files; packed rows."""

from __future__ import annotations

import json

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from language_tools import described, rows_of, save_language_model, two_sources
from text_tools import assert_refuses, jsonl, write

from rota.data import Reading, load_tasks, pack_rows
from rota.data._language_encoding import _fitting, _fitting_turns
from rota.data._packing import packs
from rota.tasks import IGNORED


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return save_language_model(tmp_path_factory.mktemp("llama") / "llama")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ROTA_CACHE", str(tmp_path / "cache"))


def reading(model, longest=64):
    return Reading(encoder=str(model), longest=longest)


def tasks_of(path, model, **options):
    return {task.name: task for task in load_tasks([str(path)], reading(model, **options))}


def one(folder, model, rows, longest=64, **fields):
    """One task from these rows, which are for evaluation."""
    path = described(folder, rows, source=None, train=None, dev="mix.jsonl.gz", **fields)
    return tasks_of(path, model, longest=longest)["mix"].splits["dev"]


def decoded(rows, model, number=0):
    """All of a row's tokens as a text, and those that are learned."""
    fast = reading(model).tokenizer.fast
    batch = rows.batch(np.array([number]))
    real = batch.inputs["tokens"][0][batch.inputs["mask"][0]]
    learned = batch.labels[0][batch.labels[0] != IGNORED]
    return fast.decode(real), fast.decode(learned)


def test_a_completion_and_its_end_are_learned_and_its_prompt_is_not(tmp_path, llama):
    rows = one(tmp_path, llama, [{"prompt": "the cat", "completion": " sat on"}])
    assert decoded(rows, llama) == ("the cat sat on</s>", " sat on</s>")
    assert rows.side["tokens"].tolist() == [3]
    assert rows.reference(0) == "sat on"


def test_a_label_is_the_token_behind_its_place(tmp_path, llama):
    rows = one(tmp_path, llama, rows_of("dog", 9))
    batch = rows.batch(np.arange(9))
    following = batch.inputs["tokens"].gather(1, batch.inputs["places"] + 1)
    real = batch.labels != IGNORED
    assert (following == batch.labels)[real].all()
    assert real.sum(1).tolist() == rows.side["tokens"].tolist()


def test_an_end_that_is_written_into_the_file_is_that_of_the_tokenizer(tmp_path, llama):
    rows = one(tmp_path, llama, [{"prompt": "the", "completion": " cat<|endoftext|>"}])
    assert decoded(rows, llama)[1] == " cat</s>"
    assert rows.reference(0) == "cat"


def test_of_messages_all_that_the_assistant_says_is_learned(tmp_path, llama):
    said = [
        {"role": "user", "content": "the cat"},
        {"role": "assistant", "content": "sat"},
        {"role": "user", "content": "on"},
        {"role": "assistant", "content": "the mat"},
    ]
    rows = one(tmp_path, llama, [{"messages": said}])
    whole, learned = decoded(rows, llama)
    assert whole == "<s>user the cat</s> <s>assistant sat</s> <s>user on</s> <s>assistant the mat</s> "
    assert learned == "sat</s>the mat</s>"
    fast = reading(llama).tokenizer.fast
    assert fast.decode(rows.prompt(0)) == "<s>user the cat</s> <s>assistant sat</s> <s>user on</s> <s>assistant "


def test_prompts_can_be_put_into_the_chat_template(tmp_path, llama):
    rows = one(tmp_path, llama, [{"prompt": "the cat", "completion": "sat"}], chat=True)
    assert decoded(rows, llama) == ("<s>user the cat</s> <s>assistant sat</s> ", "sat</s>")


def test_of_a_plain_text_every_token_but_the_first_is_learned_once_in_however_many_rows(tmp_path, llama):
    text = "the cat sat on the mat in the red house " * 5
    whole = one(tmp_path / "a", llama, [{"text": text}])
    pieces = one(tmp_path / "b", llama, [{"text": text}], longest=8)
    assert len(whole) == 1
    assert len(pieces) > 5
    assert whole.labels().tolist() == pieces.labels().tolist()
    assert pieces.lengths().max() == 8


def test_what_does_not_fit_is_cut_where_it_hurts_least_and_counted(tmp_path, llama):
    long = {"prompt": "the cat sat on the mat", "completion": " good dog"}
    rows = one(tmp_path / "a", llama, [long], longest=8)
    assert decoded(rows, llama)[1] == " good dog</s>"
    assert decoded(rows, llama)[0].endswith(" sat on the mat good dog</s>")
    assert rows.lengths().tolist() == [8]
    short = one(tmp_path / "b", llama, [{"prompt": "the", "completion": " cat" * 20}], longest=8)
    assert short.lengths().tolist() == [8]
    assert decoded(short, llama)[1] == " cat" * 7
    path = described(tmp_path / "c", [long, long], source=None)
    (task,) = load_tasks([str(path)], reading(llama, longest=8))
    assert task.notes["counted"] == {"train": {"prompt truncated": 1}, "dev": {"prompt truncated": 1}}


def test_a_prompt_that_is_cut_begins_as_every_text_does():
    assert _fitting([2, 10, 11, 12], [20, 3], 4, 2).tokens == [2, 12, 20, 3]
    assert _fitting([2, 10, 11, 12], [20, 3], 4, None).tokens == [11, 12, 20, 3]
    assert _fitting([2, 10], [20, 21, 3], 4, 2).tokens == [10, 20, 21, 3]  # no room for more than one
    assert _fitting_turns([2, 10, 11, 20, 3], [False, False, False, True, True], 4, 2).tokens == [2, 11, 20, 3]


def test_a_column_of_sources_makes_a_task_of_each(tmp_path, llama):
    tasks = tasks_of(two_sources(tmp_path), llama)
    assert list(tasks) == ["mix-dog", "mix-cat"]
    assert [(task.size("train"), task.size("dev")) for task in tasks.values()] == [(18, 6), (9, 3)]
    for name, task in tasks.items():
        for rows in task.splits.values():
            assert all(rows.reference(k).split()[1] == name.removeprefix("mix-") for k in range(len(rows)))


def test_every_row_of_a_source_is_in_one_split_and_always_the_same_one(tmp_path, llama):
    tasks, again = (tasks_of(two_sources(tmp_path), llama) for _ in range(2))
    for name, task in tasks.items():
        numbers = [task.splits[split].numbers.tolist() for split in ("train", "dev")]
        assert not set(numbers[0]) & set(numbers[1])
        assert len(numbers[0] + numbers[1]) == {"mix-dog": 24, "mix-cat": 12}[name]
        assert numbers == [again[name].splits[split].numbers.tolist() for split in ("train", "dev")]


def test_tokens_of_each_source_equal_an_independent_count(tmp_path, llama):
    rows = rows_of("dog", 24) + rows_of("cat", 12)
    fast = reading(llama).tokenizer.fast
    tasks = tasks_of(two_sources(tmp_path), llama)
    for name, task in tasks.items():
        own = [row for row in rows if f"mix-{row['source']}" == name]
        wanted = sum(len(fast.encode(row["completion"], add_special_tokens=False)) + 1 for row in own)
        assert sum(int(task.tokens(split).sum()) for split in ("train", "dev")) == wanted


def test_a_pattern_of_files_makes_a_task_of_each(tmp_path, llama):
    write(tmp_path, {f"data/{name}.jsonl": jsonl(*rows_of(name, 8)) for name in ("dog", "cat")})
    write(tmp_path, {f"dev/{name}.jsonl": jsonl(*rows_of(name, 3)) for name in ("dog", "cat")})
    fields = {"name": "mix", "kind": "causal", "train": "data/*.jsonl", "dev": "dev/*.jsonl"}
    (tmp_path / "mix.yaml").write_text(yaml.safe_dump(fields))
    tasks = tasks_of(tmp_path / "mix.yaml", llama)
    assert [(task.name, task.size("train"), task.size("dev")) for task in tasks.values()] == [
        ("mix-cat", 8, 3),
        ("mix-dog", 8, 3),
    ]


def test_parquet_and_folders_of_datasets_are_read_alike(tmp_path, llama):
    rows = rows_of("dog", 12) + rows_of("cat", 8)
    pa.parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "mix.parquet")
    datasets.DatasetDict({"train": datasets.Dataset.from_list(rows)}).save_to_disk(tmp_path / "saved")
    found = []
    for place in ("mix.parquet", "saved"):
        fields = {"name": "mix", "kind": "causal", "train": place, "dev": 0.25, "source": "source"}
        (tmp_path / "mix.yaml").write_text(yaml.safe_dump(fields))
        tasks = tasks_of(tmp_path / "mix.yaml", llama)
        found.append({name: task.splits["train"].labels().tolist() for name, task in tasks.items()})
    assert found[0] == found[1]
    assert list(found[0]) == ["mix-dog", "mix-cat"]


def test_a_changed_file_is_read_again(tmp_path, llama):
    assert tasks_of(two_sources(tmp_path), llama)["mix-dog"].size() == 18
    described(tmp_path, rows_of("dog", 40))
    assert tasks_of(tmp_path / "mix.yaml", llama)["mix-dog"].size() == 30


# Packed rows


def test_packed_rows_have_every_token_once_and_fit(tmp_path, llama):
    task = tasks_of(two_sources(tmp_path), llama)["mix-dog"]
    packed = pack_rows(task, 20).splits["train"]
    plain = task.splits["train"]
    batch = packed.batch(np.arange(len(packed)))
    assert len(packed) < len(plain)
    assert batch.inputs["tokens"].shape[1] <= 20
    assert packed.lengths().sum() == plain.lengths().sum() == batch.inputs["mask"].sum()
    assert sorted(batch.labels[batch.labels != IGNORED].tolist()) == sorted(plain.labels().tolist())
    assert packed.side["tokens"].tolist() == (batch.labels != IGNORED).sum(1).tolist()
    assert packed.side["tokens"].sum() == plain.side["tokens"].sum()


@given(st.lists(st.integers(1, 30), min_size=1, max_size=60))
def test_packs_hold_each_text_once_and_no_two_could_be_one_of_them(lengths):
    rows = packs(lengths, 30)
    assert sorted(text for row in rows for text in row) == list(range(len(lengths)))
    sums = sorted(sum(lengths[text] for text in row) for row in rows)
    assert sums[-1] <= 30
    assert len(sums) < 2 or sums[0] + sums[1] > 30


# Wrong input


@pytest.mark.parametrize(
    ("row", "parts"),
    [
        ({"prompt": "the cat"}, ["line 1", "expected a column 'completion'", "Found prompt"]),
        ({"prompt": "", "completion": "x"}, ["line 1", "column 'prompt'", "empty"]),
        ({"messages": []}, ["line 1", "list of messages with role and content"]),
        ({"messages": [{"role": "user", "content": "x"}]}, ["line 1", "role assistant", "Found user"]),
        ({"messages": [{"role": "assistant"}]}, ["line 1", "role and content"]),
    ],
)
def test_rows_of_which_nothing_can_be_learned_name_their_line(tmp_path, llama, row, parts):
    with assert_refuses(*parts):
        one(tmp_path, llama, [row])


def test_messages_need_a_chat_template(tmp_path, tmp_path_factory):
    model = save_language_model(tmp_path_factory.mktemp("plain") / "plain", chat=False)
    with assert_refuses("line 1", "expect a model with a chat template", str(model)):
        one(tmp_path, model, [{"messages": [{"role": "assistant", "content": "cat"}]}])


def test_a_row_without_source_and_a_source_without_dev_rows(tmp_path, llama):
    path = described(tmp_path, [{**rows_of("dog", 1)[0], "source": ""}])
    with assert_refuses("line 1", "name of a source in column 'source'"):
        tasks_of(path, llama)
    (tmp_path / "dev.jsonl").write_text(json.dumps(rows_of("dog", 1)[0]))
    path = two_sources(tmp_path, dev="dev.jsonl")
    with assert_refuses("Task 'mix-cat' expects dev rows of source 'cat'. Found none"):
        tasks_of(path, llama)


def test_encoders_say_nothing(tmp_path, tiny_bert):
    with assert_refuses("Task 'mix-dog' (causal) expects a language model", "smollm2"):
        tasks_of(two_sources(tmp_path), tiny_bert)


def test_a_vocabulary_that_does_not_fit(tmp_path):
    model = save_language_model(tmp_path / "small", vocab_size=40)
    tasks = tasks_of(two_sources(tmp_path), model)
    with assert_refuses("Task 'mix-dog' expects tokens from 0 to 39, the vocabulary of its model"):
        tasks["mix-dog"].check()


def test_unknown_fields_of_a_task_are_named(tmp_path, llama):
    with assert_refuses("mix.yaml", "unknown field 'sourse' (did you mean 'source'?)"):
        tasks_of(two_sources(tmp_path, sourse="x"), llama)
