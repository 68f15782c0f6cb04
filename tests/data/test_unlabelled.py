"""Rows without labels: any table with the columns of the task, or its published layout."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet
import pytest
from published import CASES
from text_tools import assert_refuses, halves, jsonl, reading_in, squeezed, tokens_between, tsv, whole_batch, write

from rota.data import Unlabelled, load_tasks
from rota.tasks import Regression

WSC = {"span1_index": 0, "span1_text": "the cat", "span2_index": 3, "span2_text": "it"}


@pytest.fixture
def reading(tmp_path, tiny_bert):
    return reading_in(tmp_path, tiny_bert)


def rows_of(reading, task, name, content, notes=(), size=1000):
    path = write(reading.data, {name: content}) / name
    unlabelled = Unlabelled(task, dict(notes), path, reading)
    return list(unlabelled.chunks(size)), unlabelled.tally.counts


PAIRS = [("the cat", "a cat"), ("a dog", "")]
LINES = [{"sentence1": one, "sentence2": two} for one, two in PAIRS]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", tsv(["sentence1", "sentence2"], *PAIRS)),
        ("test.tsv", tsv(["index", "sentence1", "sentence2"], *([k, *pair] for k, pair in enumerate(PAIRS)))),
        ("a.csv", "sentence2,sentence1\na cat,the cat\n,a dog\n"),
        ("a.jsonl", jsonl(*LINES)),
        ("a.json", json.dumps(LINES)),
        ("a.jsonl.gz", jsonl(*LINES)),
        ("labelled.jsonl", jsonl(*({**line, "label": "nonsense"} for line in LINES))),
    ],
)
def test_tables_with_the_columns_of_the_task(reading, name, content):
    (rows,), counts = rows_of(reading, "rte", name, content)
    assert halves(rows, reading.tokenizer) == [(squeezed(one), squeezed(two)) for one, two in PAIRS]
    assert counts == {}


def test_parquet(reading):
    pyarrow.parquet.write_table(pa.Table.from_pylist(LINES), reading.data / "a.parquet")
    unlabelled = Unlabelled("rte", {}, reading.data / "a.parquet", reading)
    assert [len(rows) for rows in unlabelled.chunks()] == [2]


@pytest.mark.parametrize("name", CASES)
def test_every_published_file_can_be_predicted(reading, name):
    _, files, splits = CASES[name]
    for file, content in files.items():
        if (name, file) == ("qqp", "glue/QQP/train.tsv"):  # some of its lines are broken: which answer is whose?
            with assert_refuses("train.tsv, line 3: expected 6 columns. Found 4."):
                rows_of(reading, name, file, content)
            continue
        chunks, _ = rows_of(reading, name, file, content)
        split = "test" if "test" in file else "train" if "train" in file else "dev"
        first, second, _ = splits[split][0]
        assert halves(chunks[0], reading.tokenizer)[0] == (squeezed(first), squeezed(second))


def test_published_layouts_that_are_no_tables(reading):
    asked = {"id": "1", "question": "who?"}
    squad = json.dumps({"data": [{"paragraphs": [{"context": "the cat sat", "qas": [asked, asked]}]}]})
    (rows,), _ = rows_of(reading, "squad", "test.json", squad)
    assert halves(rows, reading.tokenizer) == [("who?", "thecatsat")] * 2
    assert rows.side["passages"].references(1) == []
    (rows,), _ = rows_of(reading, "wsc", "test.jsonl", jsonl({"text": "the cat sat. It ran.", "target": WSC, "idx": 0}))
    spans = whole_batch(rows).inputs["spans"][0].tolist()
    assert [tokens_between(rows, reading.tokenizer, 0, *span) for span in spans] == ["thecat", "it"]
    (rows,), _ = rows_of(reading, "wnut2017", "emerging.test", "the\tO\ncat\tO\n")
    assert rows.side["words"].tolist() == [2]
    (rows,), _ = rows_of(reading, "wnut2017", "words.jsonl", jsonl({"words": ["the", "old", "cat"]}))
    assert rows.side["words"].tolist() == [3]
    answers = [{"text": "cat"}, {"text": "dog"}]
    passage = {"text": "the cat sat", "questions": [{"question": "who?", "answers": answers}]}
    (rows,), _ = rows_of(reading, "multirc", "test.jsonl", jsonl({"idx": 0, "passage": passage}))
    assert [second for _, second in halves(rows, reading.tokenizer)] == ["who?cat", "who?dog"]


def test_truncated_rows_are_counted(reading):
    _, counts = rows_of(reading, "cola", "a.jsonl", jsonl({"sentence": "cat " * 99}, {"sentence": "cat"}))
    assert counts == {"truncated": 1}


def test_chunks_follow_each_other(reading):
    chunks, _ = rows_of(reading, "cola", "a.jsonl", jsonl(*({"sentence": str(k)} for k in range(7))), size=3)
    assert [len(rows) for rows in chunks] == [3, 3, 1]
    assert [first for rows in chunks for first, _ in halves(rows, reading.tokenizer)] == list(map(str, range(7)))


def test_candidates_of_a_gap_stay_in_one_chunk(reading):
    entities = [{"start": 0, "end": 2}, {"start": 8, "end": 10}, {"start": 16, "end": 18}]
    passage = {"text": "cat and dog and bat", "entities": entities}
    line = {"passage": passage, "qas": [{"query": "@placeholder ran"}, {"query": "@placeholder sat"}]}
    chunks, _ = rows_of(reading, "record", "test.jsonl", jsonl(line, line), size=4)
    assert [rows.side["group"].tolist() for rows in chunks] == [[0, 0, 0, 1, 1, 1], [2, 2, 2, 3, 3, 3]]


def test_a_table_of_candidates_says_which_belong_together(reading):
    lines = [{"passage": "a cat", "query": f"{name} ran", "group": "7"} for name in ("cat", "dog")]
    (rows,), _ = rows_of(reading, "record", "a.jsonl", jsonl(*lines))
    assert rows.side["group"].tolist() == [7, 7]
    with assert_refuses(
        "line 1: expected a whole number in column 'group'. Found 'x'. Task 'record' reads the columns"
    ):
        rows_of(reading, "record", "b.jsonl", jsonl({**lines[0], "group": "x"}))
    with assert_refuses("Task 'record' reads the columns passage, query, group."):
        rows_of(reading, "record", "c.jsonl", jsonl({"passage": "a cat", "query": "it ran"}))
    (rows,), _ = rows_of(reading, "multirc", "d.csv", "paragraph,question,answer\nthe cat,who?,cat\n")
    assert len(rows) == 1


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("a.csv", "sentence1,label\nx,1\n", ["line 2: expected a column 'sentence2'", "columns sentence1, sentence2."]),
        ("a.csv", "", ["a.csv: expected at least one row. Found none. Task 'rte' reads the columns"]),
        ("a.csv", "sentence1,sentence2\n", ["a.csv: expected at least one row. Found none."]),
        ("a.jsonl", '{"sentence1": ', ["line 1: expected a JSON object", "truncated"]),
        ("a.jsonl", jsonl({"sentence1": "", "sentence2": "x"}), ["line 1: expected a text in column 'sentence1'"]),
        ("a.jsonl", b"\xff\n", ["line 1: expected UTF-8. Found the byte 0xff."]),
    ],
)
def test_wrong_files(reading, name, content, parts):
    with assert_refuses(reading.data / name, *parts):
        rows_of(reading, "rte", name, content)


def test_a_wrong_row_further_down(reading):
    with assert_refuses("a.jsonl, line 3: expected a text in column 'sentence'. Found an empty one."):
        rows_of(reading, "cola", "a.jsonl", jsonl(*({"sentence": text} for text in ("x", "y", ""))))


def test_files_that_are_not_there_and_tasks_without_texts(reading):
    with assert_refuses("Expected a file that can be read at ", "absent.csv", "No such file"):
        Unlabelled("rte", {}, reading.data / "absent.csv", reading)
    with assert_refuses("Predictions expect a task of texts. Found 'left'."):
        Unlabelled("left", {}, reading.data / "absent.csv", reading)


# A user's own tasks

OWN = {
    "stars": ({"kind": "classification"}, {"text": "the cat", "label": "good"}, ("thecat", "")),
    "rte": ({"kind": "classification", "text": ["a", "b"]}, {"a": "x", "b": "y", "label": "good"}, ("x", "y")),
    "rank": ({"kind": "regression"}, {"text": "the cat", "label": 3}, ("thecat", "")),
    "next": (
        {"kind": "choice", "choices": "of"},
        {"text": "x", "of": ["a", "b", "c"], "label": 0},
        [("x", "a"), ("x", "b"), ("x", "c")],
    ),
    "which": (
        {"kind": "choice", "choices": ["a", "b"]},
        {"text": "x", "a": "y", "b": "z", "label": 0},
        [("x", "y"), ("x", "z")],
    ),
    "pets": ({"kind": "tagging"}, {"text": ["the", "cat"], "label": ["O", "B"]}, ("thecat", "")),
    "where": (
        {"kind": "answer"},
        {"question": "who?", "context": "a cat", "answers": [{"text": "cat", "start": 2}]},
        ("who?", "acat"),
    ),
}


@pytest.mark.parametrize("name", OWN)
def test_tasks_of_ones_own(tmp_path, reading, name):
    fields, row, expected = OWN[name]
    other = {**row, "label": "bad"} if row.get("label") == "good" else row
    description = {"name": name, "train": "train.jsonl"} | fields
    write(tmp_path, {"own.yaml": json.dumps(description), "train.jsonl": jsonl(row, other)})
    (task,) = load_tasks([str(tmp_path / "own.yaml")], reading)
    notes = json.loads(json.dumps(task.notes))  # as a run remembers them
    bare = {key: value for key, value in row.items() if key not in ("label", "answers")}
    (rows,), _ = rows_of(reading, name, "new.jsonl", jsonl(bare, bare), notes)
    assert halves(rows, reading.tokenizer) == [expected] * 2
    kind = Unlabelled(name, notes, reading.data / "new.jsonl", reading).form.kind
    assert kind == (Regression() if fields["kind"] == "regression" else task.kind)  # a scale is known to the model


def test_layouts_of_ones_own_tasks(tmp_path, reading):
    write(tmp_path, {"own.yaml": "{name: pets, kind: tagging, train: a.conll}", "a.conll": "the\tO\ncat\tB\n"})
    (task,) = load_tasks([str(tmp_path / "own.yaml")], reading)
    (rows,), _ = rows_of(reading, "pets", "new.conll", "a\tX\ndog\tY\n", task.notes)
    assert halves(rows, reading.tokenizer) == [("adog", "")]
    with assert_refuses("Expected a file that ends in .tsv, .csv, .jsonl, .json, .parquet. Found "):
        notes = {**task.notes, "own": {**task.notes["own"], "kind": "classification"}}
        rows_of(reading, "pets", "new.conll", "", notes)
