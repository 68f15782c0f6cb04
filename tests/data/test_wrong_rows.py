"""Rows of published tasks that cannot be right are refused with file, line, expected and found."""

from __future__ import annotations

import pytest
from published import CASES, QQP, STSB, stsb_row
from text_tools import assert_refuses, jsonl, reading_in, tsv, write

from rota.data import load_tasks
from rota.data._files import Record, Tally
from rota.data._forms import Choices, Grouped, Scored
from rota.data._forms_inside import Tagged
from rota.data._labels import Labels

RTE = ["index", "sentence1", "sentence2", "label"]
COPA = {"premise": "a cat", "choice1": "it sat", "choice2": "it ran", "question": "cause", "label": 0}
WIC = {"sentence1": "the cat", "sentence2": "a cat", "start1": 4, "end1": 7, "start2": 2, "end2": 5, "label": True}


@pytest.mark.parametrize(
    ("name", "file", "content", "parts"),
    [
        ("rte", "glue/RTE/dev.tsv", "", ["dev.tsv: expected at least one row. Found none."]),
        ("rte", "glue/RTE/dev.tsv", "\n", ["dev.tsv: expected at least one row. Found none."]),
        ("rte", "glue/RTE/train.tsv", tsv(RTE), ["train.tsv: expected at least one row. Found none."]),
        ("mnli", "glue/MNLI/dev_mismatched.tsv", "", ["dev_mismatched.tsv: expected at least one row. Found none."]),
        ("boolq", "superglue/BoolQ/train.jsonl", "\n\n", ["train.jsonl: expected at least one row. Found none."]),
        (
            *("rte", "glue/RTE/train.tsv", tsv(RTE[:3], [0, "a", "b"])),
            ["train.tsv, line 2: expected a column 'label'. Found index, sentence1, sentence2."],
        ),
        (
            *("rte", "glue/RTE/train.tsv", tsv(RTE, [0, "a", "b", "entailment"], [1, "a", "b", "maybe"])),
            ["train.tsv, line 3: expected a label among entailment, not_entailment in column 'label'. Found 'maybe'."],
        ),
        ("rte", "glue/RTE/train.tsv", tsv(RTE, [0, "a", "b", ""]), ["line 2: expected a label among", "Found ''."]),
        (
            *("rte", "glue/RTE/train.tsv", tsv(RTE, [0, " ", "b", "entailment"])),
            ["train.tsv, line 2: expected a text in column 'sentence1'. Found an empty one."],
        ),
        ("rte", "glue/RTE/train.tsv", tsv(RTE, RTE), ["line 2: expected a row. Found the header again."]),
        ("rte", "glue/RTE/train.tsv", tsv([*RTE, "label"], [0, "a", "b", 1, 1]), ["line 1", "Found twice: 'label'"]),
        ("cola", "glue/CoLA/train.tsv", tsv(["x", 2, "", "the cat"]), ["line 1: expected a label among", "Found '2'."]),
        ("cola", "glue/CoLA/train.tsv", tsv(["x", 1, "the cat"]), ["line 1: expected 4 columns. Found 3."]),
        ("sst2", "SST-2/train.tsv", b"sentence\tlabel\ncaf\xe9\t1\n", ["line 2: expected UTF-8. Found the byte 0xe9."]),
        ("qqp", "glue/QQP/dev.tsv", tsv(QQP, [1, 2, 3, "", "who?", 1]), ["line 2: expected a text", "'question1'"]),
        (
            "snli",
            "snli_1.0/snli_1.0_dev.jsonl",
            '{"gold_label": "-"}\n',
            ["one row with a label", "(1 without"],
        ),
        *(
            ("stsb", "glue_data/STS-B/train.tsv", tsv(STSB, stsb_row(0, "a", "b", score)), [wish, f"Found '{score}'."])
            for score in ("5.1", "-0.1", "nan", "inf", "high", "")
            for wish in ("train.tsv, line 2: expected a number from 0 to 5 in column 'score'.",)
        ),
        ("stsb", "glue_data/STS-B/train.tsv", tsv(STSB[:9], stsb_row(0, "a", "b", 1)[:9]), ["a column 'score'"]),
        ("boolq", "superglue/BoolQ/train.jsonl", '{"question": "a', ["line 1: expected a JSON object", "truncated"]),
        ("boolq", "superglue/BoolQ/train.jsonl", jsonl({"question": "a"}), ["line 1: expected a column 'label'"]),
        (
            *("boolq", "superglue/BoolQ/val.jsonl", jsonl({"question": "a", "passage": None, "label": True})),
            ["val.jsonl, line 1: expected a value in column 'passage'. Found none."],
        ),
        ("copa", "superglue/COPA/val.jsonl", jsonl({**COPA, "label": 2}), ["a label among 0, 1 in", "Found 2."]),
        ("copa", "superglue/COPA/val.jsonl", jsonl({**COPA, "choice2": ""}), ["'choice2'. Found an empty one."]),
        (
            "wic",
            "superglue/WiC/val.jsonl",
            jsonl({**WIC, "end1": 8}),
            ["its text of 7 characters. Found 4 to 8."],
        ),
    ],
)
def test_wrong_rows(tmp_path, tiny_bert, name, file, content, parts):
    reading = reading_in(tmp_path, tiny_bert)
    write(tmp_path / "data", CASES.get(name, (0, {}))[1] | {file: content})
    folder = tmp_path / "data"
    with assert_refuses(folder, *parts):
        load_tasks([name], reading)


def test_a_table_with_nothing_but_a_header_leaves_nothing_in_the_cache(tmp_path, tiny_bert):
    reading = reading_in(tmp_path, tiny_bert)
    write(tmp_path / "data", CASES["rte"][1] | {"glue/RTE/train.tsv": tsv(RTE)})
    for _ in range(2):
        with assert_refuses("train.tsv: expected at least one row. Found none."):
            load_tasks(["rte"], reading)
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".lock"]


def test_a_folder_that_is_none(tmp_path, tiny_bert, monkeypatch):
    reading = reading_in(tmp_path, tiny_bert)
    (tmp_path / "data").rmdir()
    with assert_refuses("Plan(data=…) expects a folder. Found none at ", tmp_path / "data"):
        load_tasks(["rte"], reading)
    monkeypatch.setenv("ROTA_DATA", str(tmp_path / "elsewhere"))
    with assert_refuses("$ROTA_DATA expects a folder. Found none at ", tmp_path / "elsewhere"):
        load_tasks(["rte"])


def test_the_data_folder_may_be_named_by_the_environment(tmp_path, tiny_bert, monkeypatch):
    reading = reading_in(tmp_path, tiny_bert)
    write(tmp_path / "data", CASES["rte"][1])
    monkeypatch.setenv("ROTA_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("ROTA_CACHE", str(tmp_path / "kept"))
    (task,) = load_tasks(["rte"], type(reading)(encoder=str(tiny_bert)))
    assert task.size() == 2
    assert len(list((tmp_path / "kept").glob("rte-*/meta.json"))) == 2


def test_an_encoder_without_files(tmp_path):
    reading = reading_in(tmp_path, tmp_path / "data")
    write(tmp_path / "data", CASES["rte"][1])
    with assert_refuses("Expected an encoder with its config.json in ", tmp_path / "data"):
        load_tasks(["rte"], reading)


# Forms


def number(labels, value):
    return labels.number(Record({"label": value}, "here"), "label", Tally())


@pytest.mark.parametrize(
    ("names", "value", "expected"),
    [
        (("bad", "good"), "good", 1),
        (("bad", "good"), " good ", 1),
        (("bad", "good"), 1, 1),
        (("false", "true"), True, 1),
        (("false", "true"), "False", 0),
        (("1", "2"), 2, 1),
        (("1", "2"), 2.0, 1),
        (("1", "2"), "2.0", 1),
        (("0.5", "1.5"), 1.5, 1),
    ],
)
def test_labels_by_name_and_by_number(names, value, expected):
    assert number(Labels(names), value) == expected


@pytest.mark.parametrize(
    ("names", "value"),
    [
        (("bad", "good"), 2),
        (("bad", "good"), -1),
        (("bad", "good"), True),  # which of them is it?
        (("bad", "good"), "1"),
        (("1", "2"), 0),  # no number of a class: classes are numbers
        (("a", "b"), None),
        (("a", "b"), "A"),
        (("a", "b"), ["a"]),
    ],
)
def test_labels_that_stand_for_no_class(names, value):
    with assert_refuses(f"here: expected a label among {', '.join(names)} in column 'label'. Found {value!r}."):
        number(Labels(names), value)


def test_many_labels_are_not_all_listed():
    with assert_refuses("among 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 … in column 'label'. Found 100."):
        number(Labels(tuple(map(str, range(100)))), 100)


@pytest.mark.parametrize("choices", [["a"], ["a", "b", "c"], "ab", None, ["a", ""], ["a", 2]])
def test_wrong_choices(choices):
    form = Choices("text", ("options",), 2)
    with assert_refuses("here: expected "):
        form.example(Record({"text": "x", "options": choices, "label": 0}, "here"), Tally())


@pytest.mark.parametrize(
    ("words", "tags", "part"),
    [
        ("the cat", ["O", "O"], "expected a list of words in column 'words'. Found the cat."),
        ([], [], "expected a list of words in column 'words'. Found []."),
        (["the", " "], ["O", "O"], "expected a list of words in column 'words'"),
        (["the", "\ud800"], ["O", "O"], "expected a list of words in column 'words'"),
        (["the", "cat"], ["O"], "expected 2 tags, one for each word. Found 1."),
        (["the", "cat"], "OO", "expected 2 tags, one for each word. Found 'OO'."),
        (["the", "cat"], ["O", "B"], "expected tags among O, B-pet in column 'tags'. Found 'B'."),
        (["the", "cat"], ["O", 2], "expected tags among O, B-pet in column 'tags'. Found 2."),
        (["the", "cat"], None, "expected a value in column 'tags'. Found none."),
    ],
)
def test_wrong_tags(words, tags, part):
    with assert_refuses(f"here: {part}" if part.endswith(".") else part):
        Tagged(("O", "B-pet")).example(Record({"words": words, "tags": tags}, "here"), Tally())


def test_tags_by_number_mean_their_place_only_where_they_have_names():
    record = Record({"words": ["a", "b"], "tags": [2, 0]}, "here")
    assert Tagged(("O", "B", "I")).example(record, Tally()).tags == (2, 0)
    assert Tagged(("0", "2", "5")).example(record, Tally()).tags == (1, 0)


def test_true_is_no_number():
    with assert_refuses("here: expected a number in column 'label'. Found True."):
        Scored(("text",)).example(Record({"text": "x", "label": True}, "here"), Tally())


def test_questions_may_not_be_empty_but_answers_may():
    form = Grouped("paragraph", ("question", "answer"))
    record = {"paragraph": "x", "question": "", "answer": "y", "label": 1, "group": 0}
    with assert_refuses("here: expected a text in column 'question'. Found an empty one."):
        form.example(Record(record, "here"), Tally())
    tally = Tally()
    found = form.example(Record({**record, "question": "who?", "answer": "", "label": True}, "here"), tally)
    assert found.texts == (("x", "who? "),)
    assert found.label == 1
    assert tally.counts == {"empty answers": 1}
