"""A user's own tasks: every kind, every format, dev cut from train, labels inferred and checked."""

from __future__ import annotations

import json

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import yaml
from text_tools import assert_refuses, halves, jsonl, reading_in, tsv, whole_batch, write

from rota.data import load_tasks, raw_tasks
from rota.tasks import Answer, Classification, MultipleChoice, Regression, Tagging, check_tasks


def described(folder, *tasks, name="own.yaml"):
    content = yaml.safe_dump(tasks[0] if len(tasks) == 1 else list(tasks))
    write(folder, {name: content})
    return str(folder / name)


def load(folder, encoder, files=(), **task):
    """One task that trains on `train.csv` unless it says otherwise."""
    write(folder, dict(files))
    task = PLAIN | task
    return load_tasks([described(folder, task)], reading_in(folder, encoder))[0]


PLAIN = {"name": "stars", "kind": "classification", "train": "train.csv"}
STARS = "text,label\nthe cat,10\na dog,9\nit ran,10\n"
ROWS = [{"text": "the cat", "label": "good"}, {"text": "a dog", "label": "bad"}]


def save(folder, name, rows):
    """The same rows in a file of any format, or a folder of `datasets`."""
    if name.endswith(".parquet"):
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), folder / name)
    elif name.endswith(".csv"):
        write(folder, {name: "text,label\n" + "".join(f"{row['text']},{row['label']}\n" for row in rows)})
    elif name.endswith(".tsv"):
        write(folder, {name: tsv(["text", "label"], *([row["text"], row["label"]] for row in rows))})
    elif name.endswith(".json"):
        write(folder, {name: json.dumps(rows)})
    elif name.endswith((".jsonl", ".jsonl.gz")):
        write(folder, {name: jsonl(*rows)})
    elif name == "dataset":
        datasets.Dataset.from_list(rows).save_to_disk(folder / name)
    else:
        table = datasets.Dataset.from_list(rows)
        datasets.DatasetDict(train=table, dev=table).save_to_disk(folder / name)


FORMATS = ["a.csv", "a.tsv", "a.jsonl", "a.json", "a.jsonl.gz", "a.parquet", "dataset", "splits"]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("labels", [("good", "bad"), (1, 0), (True, False), (2.0, 1.0)])
def test_every_format_gives_the_same_task(tmp_path, tiny_bert, name, labels):
    save(tmp_path, name, [{"text": f"{row['text']}", "label": label} for row, label in zip(ROWS, labels, strict=True)])
    task = load(tmp_path, tiny_bert, train=name, dev=name)
    assert task.kind.names in (("bad", "good"), ("0", "1"), ("false", "true"), ("1", "2"))
    for split in ("train", "dev"):
        assert task.splits[split].labels().tolist() == [1, 0]
        assert halves(task.splits[split], reading_in(tmp_path, tiny_bert).tokenizer) == [("thecat", ""), ("adog", "")]
    assert task.notes["own"]["labels"] == list(task.kind.names)
    json.dumps(task.notes)


def test_labels_are_inferred_in_natural_order(tmp_path, tiny_bert):
    task = load(tmp_path, tiny_bert, {"train.csv": STARS, "dev.csv": "text,label\nx,9.0\n"}, dev="dev.csv")
    assert task.kind == Classification(2, names=("9", "10"))
    assert task.splits["train"].labels().tolist() == [1, 0, 1]
    assert task.splits["dev"].labels().tolist() == [0]
    mixed = "text,label\nx,b\nx,10\nx,a\nx,-1.5\nx,nan\n"
    task = load(tmp_path, tiny_bert, {"train.csv": mixed})
    assert task.kind.names == ("-1.5", "10", "a", "b", "nan")


def test_labels_can_be_given_and_are_checked(tmp_path, tiny_bert):
    files = {"train.csv": STARS, "dev.csv": "text,label\nx,10\nx,11\n"}
    task = load(tmp_path, tiny_bert, files, labels=[10, 9, 8])
    assert task.kind.names == ("10", "9", "8")
    assert task.splits["train"].labels().tolist() == [0, 1, 0]
    with assert_refuses(tmp_path / "dev.csv", "line 3: expected a label among 9, 10 in column 'label'. Found '11'."):
        load(tmp_path, tiny_bert, files, dev="dev.csv")
    with assert_refuses(tmp_path / "train.csv", "line 2: expected a label among 9, 8 in column 'label'. Found '10'."):
        load(tmp_path, tiny_bert, files, labels=[9, 8])
    with assert_refuses("own.yaml: expected each of the labels once. Found twice: 9."):
        load(tmp_path, tiny_bert, files, labels=["9", "9.0"])


def test_a_hundred_classes(tmp_path, tiny_bert):
    content = "text,label\n" + "".join(f"the cat,class {k}\n" for k in range(100))
    task = load(tmp_path, tiny_bert, {"train.csv": content}, dev=0.01)
    assert task.kind.classes == 100
    assert task.size() + task.size("dev") == 100
    assert task.size("dev") == 1
    check_tasks([task])


def test_pairs_columns_and_the_rest_of_a_task(tmp_path, tiny_bert):
    files = {"data/train.csv": "one,two,stars\nthe cat,,1\na dog,it ran,2\n"}
    more = {"metrics": ["accuracy", "f1"], "auxiliary": True, "batch_size": 7, "loss_weight": 0.5, "stop_after": 9}
    task = load(tmp_path, tiny_bert, files, train="data/train.csv", text=["one", "two"], label="stars", **more)
    assert halves(task.splits["train"], reading_in(tmp_path, tiny_bert).tokenizer) == [
        ("thecat", ""),
        ("adog", "itran"),
    ]
    assert task.kind.measured == ("accuracy", "f1")
    assert (task.auxiliary, task.batch_size, task.loss_weight, task.stop_after) == (True, 7, 0.5, 9)


def test_regression(tmp_path, tiny_bert):
    files = {"train.csv": "text,score\na,1\nb,3.5\nc,\n"}
    with assert_refuses(tmp_path / "train.csv", "line 4: expected a number in column 'score'. Found ''."):
        load(tmp_path, tiny_bert, files, kind="regression", label="score")
    with assert_refuses(tmp_path / "train.csv", "line 2: expected a column 'stars'. Found text, score."):
        load(tmp_path, tiny_bert, files, kind="regression", label="stars")
    task = load(tmp_path, tiny_bert, files, kind="regression", label="score", without_label="leave out")
    assert task.kind == Regression(scale=1.25)
    assert task.splits["train"].labels().tolist() == [1, 3.5]
    assert task.notes["counted"] == {"train": {"without label": 1}}


@pytest.mark.parametrize("columns", [["x", "y", "z"], "options", ["options"]])
def test_choices_in_columns_or_in_a_list(tmp_path, tiny_bert, columns):
    rows = [{"text": "the cat", "x": "sat", "y": "ran", "z": "flew", "options": ["sat", "ran", "flew"], "label": 2}]
    files = {"train.jsonl": jsonl(*rows, {**rows[0], "label": "0"}, {**rows[0], "label": None})}
    more = {"kind": "choice", "train": "train.jsonl", "choices": columns}
    task = load(tmp_path, tiny_bert, files, without_label="leave out", **more)
    assert task.kind == MultipleChoice(3)
    assert task.splits["train"].labels().tolist() == [2, 0]
    assert task.notes["choices"] == 3
    first = halves(task.splits["train"], reading_in(tmp_path, tiny_bert).tokenizer)[0]
    assert first == [("thecat", "sat"), ("thecat", "ran"), ("thecat", "flew")]
    with assert_refuses("line 3: expected a label among 0, 1, 2 in column 'label'. Found None."):
        load(tmp_path, tiny_bert, files, **more)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ("sat", "line 1: expected a list of two choices or more in column 'options'. Found 'sat'."),
        (["sat"], "line 1: expected a list of two choices or more in column 'options'. Found ['sat']."),
        (3, "line 1: expected a list of two choices or more in column 'options'. Found 3."),
        (["sat", ""], "line 1: expected choices that are texts. Found ['sat', '']."),
    ],
)
def test_wrong_choices(tmp_path, tiny_bert, options, part):
    files = {"train.jsonl": jsonl({"text": "x", "options": options, "label": 0})}
    with assert_refuses(tmp_path / "train.jsonl", part):
        load(tmp_path, tiny_bert, files, kind="choice", train="train.jsonl", choices="options")


def test_a_row_with_another_number_of_choices(tmp_path, tiny_bert):
    rows = [{"text": "x", "options": list("abc")[:count], "label": 0} for count in (2, 3)]
    with assert_refuses(tmp_path / "train.jsonl", "line 2: expected 2 choices. Found 3."):
        load(tmp_path, tiny_bert, {"train.jsonl": jsonl(*rows)}, kind="choice", train="train.jsonl", choices="options")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", jsonl({"text": ["the", "cat"], "label": ["O", "B-pet"]}, {"text": ["ran"], "label": ["I-pet"]})),
        ("a.conll", "the\tO\ncat\tB-pet\n\nran\tI-pet\n"),
        ("a.txt", "the O\ncat B-pet\n\nran I-pet\n"),
    ],
)
def test_tagging(tmp_path, tiny_bert, name, content):
    task = load(tmp_path, tiny_bert, {name: content}, kind="tagging", train=name)
    assert task.kind == Tagging(3, ("B-pet", "I-pet", "O"))
    assert task.splits["train"].labels().tolist() == [2, 0, 1]


def test_words_and_their_tags_are_called_as_the_documents_call_them(tmp_path, tiny_bert):
    files = {"a.jsonl": jsonl({"words": ["the", "cat"], "tags": ["O", "B-pet"]})}
    task = load(tmp_path, tiny_bert, files, kind="tagging", train="a.jsonl")
    assert task.splits["train"].labels().tolist() == [1, 0]
    with assert_refuses("a.jsonl, line 1: expected a column 'words'. Found tokens, tags."):
        files = {"a.jsonl": jsonl({"tokens": ["the", "cat"], "tags": ["O", "B-pet"]})}
        load(tmp_path, tiny_bert, files, kind="tagging", train="a.jsonl")


def test_tags_that_are_numbers_and_sentences_without_tags(tmp_path, tiny_bert):
    files = {"a.jsonl": jsonl({"text": ["the", "cat"], "label": [5, 0]}, {"text": ["ran"], "label": None})}
    task = load(tmp_path, tiny_bert, files, kind="tagging", train="a.jsonl", without_label="leave out")
    assert task.kind.names == ("0", "5")
    assert task.splits["train"].labels().tolist() == [1, 0]
    assert task.notes["counted"] == {"train": {"without label": 1}}
    with assert_refuses("a.jsonl, line 2: expected a value in column 'tags'. Found none."):
        load(tmp_path, tiny_bert, files, kind="tagging", train="a.jsonl")
    with assert_refuses("a.jsonl, line 1: expected 2 tags, one for each word. Found 'OO'."):
        files = {"a.jsonl": jsonl({"text": ["the", "cat"], "label": "OO"})}
        load(tmp_path, tiny_bert, files, kind="tagging", train="a.jsonl")


ANSWERS = {"text": ["cat"], "answer_start": [4]}
QUESTION = {"question": "who sat?", "context": "the cat sat", "answers": [{"text": "cat", "start": 4}]}
ASKED = {"id": "1", "question": "who sat?", "answers": [{"text": "cat", "answer_start": 4}]}


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.parquet", "dataset"])
def test_answers_in_passages(tmp_path, tiny_bert, name):
    if name == "a.json":
        write(tmp_path, {name: json.dumps({"data": [{"paragraphs": [{"context": "the cat sat", "qas": [ASKED]}]}]})})
    else:
        save(tmp_path, name, [QUESTION if name == "a.jsonl" else {**QUESTION, "answers": ANSWERS}])
    task = load(tmp_path, tiny_bert, kind="answer", train=name)
    assert task.kind == Answer()
    (start, end), passages = whole_batch(task.splits["train"]).labels[0].tolist(), task.splits["train"].side["passages"]
    assert passages.excerpt(0, start, end) == "cat"


def test_answers_may_be_in_other_columns_and_missing(tmp_path, tiny_bert):
    rows = [{"q": "who?", "p": "the cat", "answers": ANSWERS}, {"q": "who?", "p": "the cat", "answers": []}]
    more = {"kind": "answer", "train": "a.jsonl", "text": ["q", "p"]}
    task = load(tmp_path, tiny_bert, {"a.jsonl": jsonl(*rows)}, without_label="leave out", **more)
    assert task.size() == 1
    assert task.notes["counted"] == {"train": {"without label": 1}}
    with assert_refuses(tmp_path / "a.jsonl", "line 2: expected at least one answer. Found none."):
        load(tmp_path, tiny_bert, {}, **more)


# Splits


@pytest.mark.parametrize(("share", "count"), [(0.1, 2), (0.5, 10), (0.001, 1), (0.999, 19)])
def test_dev_is_cut_from_train(tmp_path, tiny_bert, share, count):
    content = "text,label\n" + "".join(f"{k},{k % 2}\n" for k in range(20))
    task = load(tmp_path, tiny_bert, {"train.csv": content}, dev=share)
    tokenizer = reading_in(tmp_path, tiny_bert).tokenizer
    train, dev = ([first for first, _ in halves(task.splits[split], tokenizer)] for split in ("train", "dev"))
    assert len(dev) == count
    assert sorted(train + dev, key=int) == list(map(str, range(20)))
    again = load(tmp_path, tiny_bert, {}, dev=share)
    assert [first for first, _ in halves(again.splits["dev"], tokenizer)] == dev


@pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.99])
def test_rows_that_belong_together_are_on_one_side_of_the_cut(tmp_path, tiny_bert, share):
    premises = [number for number in range(30) for _ in range(1 + number % 3)]
    content = "premise,text,label\n" + "".join(f"p{number},{k},{k % 2}\n" for k, number in enumerate(premises))
    write(tmp_path, {"train.csv": content})
    cut = {"text": ["premise", "text"], "dev": share, "together": "premise"}
    raw = raw_tasks([described(tmp_path, {**PLAIN, **cut})], reading_in(tmp_path, tiny_bert))[0]
    sides = {split: [example.texts[0][0] for example in raw.examples(split)] for split in ("train", "dev")}
    assert not set(sides["train"]) & set(sides["dev"])
    assert len(sides["train"]) + len(sides["dev"]) == len(premises)
    assert abs(len(sides["dev"]) - share * len(premises)) <= 3  # no group has more rows
    assert sides["train"]
    assert sides["dev"]


def test_what_belongs_together_needs_a_cut_and_two_groups(tmp_path, tiny_bert):
    content = "text,label\n" + "the cat,1\n" * 3 + "the cat,0\n"
    with assert_refuses("Task 'stars' expects dev to be a share where it names `together`. Found None."):
        load(tmp_path, tiny_bert, {"train.csv": content}, together="text")
    with assert_refuses("train.csv: expected two values in column 'text' or more, to cut a dev split off. Found 1."):
        load(tmp_path, tiny_bert, {"train.csv": content}, dev=0.5, together="text")


def test_files_may_be_in_the_folder_with_data_sets(tmp_path, tiny_bert):
    reading = reading_in(tmp_path, tiny_bert)  # whose data sets are in `data`
    write(tmp_path / "data" / "reviews", {"all.csv": STARS})
    yaml_file = described(tmp_path / "elsewhere", {**PLAIN, "train": "reviews/all.csv"})
    assert load_tasks([yaml_file], reading)[0].size() == 3
    write(tmp_path / "elsewhere" / "reviews", {"all.csv": "text,label\nthe cat,10\na dog,9\n"})
    assert load_tasks([yaml_file], reading)[0].size() == 2  # what is beside the YAML file comes first


def test_a_task_without_groups_is_told_as_before(tmp_path, tiny_bert):
    task = load(tmp_path, tiny_bert, {"train.csv": STARS}, dev=0.4)
    assert "together" not in task.notes["own"]


def test_dev_can_be_cut_from_a_folder_of_datasets(tmp_path, tiny_bert):
    save(tmp_path, "dataset", ROWS * 5)
    task = load(tmp_path, tiny_bert, train="dataset", dev=0.3)
    assert (task.size(), task.size("dev")) == (7, 3)
    assert task.splits["dev"].side == {}


def test_a_task_that_is_only_evaluated(tmp_path, tiny_bert):
    task = load(tmp_path, tiny_bert, {"test.csv": STARS}, train=None, test="test.csv")
    assert set(task.splits) == {"test"}
    assert not task.trained


def test_rows_without_label_are_left_out_and_counted(tmp_path, tiny_bert):
    rows = [*ROWS, {"text": "x", "label": None}, {"text": "x", "label": ""}, {"text": "x"}]
    task = load(tmp_path, tiny_bert, {"a.jsonl": jsonl(*rows)}, train="a.jsonl", without_label="leave out")
    assert task.size() == 2
    assert task.notes["counted"] == {"train": {"without label": 3}}
    assert np.array_equal(task.splits["train"].labels(), [1, 0])
    wishes = ["a value in column 'label'. Found none.", "a label among bad, good", "a column 'label'. Found text."]
    for row, wish in zip(rows[2:], wishes, strict=True):
        with assert_refuses(tmp_path / "a.jsonl", f"line 3: expected {wish}"):
            load(tmp_path, tiny_bert, {"a.jsonl": jsonl(*ROWS, row)}, train="a.jsonl")
    more = {"train": "a.jsonl", "without_label": "leave out", "labels": ["a", "b"]}
    with assert_refuses(tmp_path / "a.jsonl", "expected at least one row with a label. Found none (1 without label)."):
        load(tmp_path, tiny_bert, {"a.jsonl": jsonl({"text": "x"})}, **more)
