"""A user's own tasks that cannot be: what is wrong in the YAML file, or in which line of which file."""

from __future__ import annotations

import datasets
import pytest
from text_tools import assert_refuses, jsonl, reading_in, write

from rota.data import load_tasks

STARS = "text,label\nthe cat,1\na dog,2\n"
TASK = "name: stars\nkind: classification\ntrain: train.csv\n"


def load(folder, encoder, description, files=(), others=()):
    write(folder, {"own.yaml": description, "train.csv": STARS} | dict(files))
    return load_tasks([str(folder / "own.yaml"), *others], reading_in(folder, encoder))


def load_rows(folder, encoder, content, **fields):
    description = TASK.replace("train.csv", "rows.csv") + "".join(
        f"{name}: {value}\n" for name, value in fields.items()
    )
    return load(folder, encoder, description, {"rows.csv": content})


@pytest.mark.parametrize(
    ("description", "parts"),
    [
        ("", ["own.yaml: expected fields such as `name: stars`. Found NoneType."]),
        ("[]", ["own.yaml: expected at least one task. Found none."]),
        ("- 3", ["own.yaml: expected fields such as `name: stars`. Found int."]),
        ("stars", ["own.yaml: expected fields such as `name: stars`. Found str."]),
        ("a: [1", ["own.yaml: expected YAML. Found in line 1: expected ',' or ']', but got '<stream end>'."]),
        (b"name: \xff", ["own.yaml: expected YAML. Found"]),
        ("[" * 500, ["own.yaml: expected YAML. Found"]),
        ("name: 2020-13-45", ["own.yaml: expected YAML. Found"]),
        ("name: x", ["own.yaml: 1 wrong field: 'kind' is missing."]),
        (
            "nmae: stars\nkind: stars\ntext: 3\nlabels: {a: 1}\nbatch_size: 0\nwithout_label: drop\n",
            [
                "own.yaml: 7 wrong fields: 'name' is missing; ",
                "'kind' expects 'classification', 'regression', 'choice', 'tagging' or 'answer', found 'stars'",
                "'text' expects tuple, found 3",
                "'labels' expects",
                "'batch_size' expects greater than or equal to 1, found 0",
                "'without_label' expects 'refuse' or 'leave out', found 'drop'",
                "unknown field 'nmae' (did you mean 'name'?)",
            ],
        ),
        ("[{name: a, kind: regression}, {name: b, knd: x}]", ["own.yaml, task b: 2 wrong fields", "'knd'"]),
        (f"{TASK}text: [a, b, c]\n", ["'text' expects", "at most 2 items"]),
        (f"{TASK}text: []\n", ["'text' expects", "at least 1 item"]),
        (f"{TASK}text: [a, 3]\n", ["'text.1' expects string, found 3"]),
        (TASK.replace("classification", "choice"), ["own.yaml: expected `choices`, the columns of the choices."]),
        (f"{TASK}metrics: [acuracy]\n", ["Unknown metric of classification 'acuracy'. Did you mean 'accuracy'?"]),
        (f"{TASK}1: x\n", ["own.yaml: 1 wrong field: '1' expects"]),
        ("name: stars\nkind: regression\n", ["Task 'stars' expects files for train, dev or test. Found none."]),
        (
            "name: stars\nkind: regression\ndev: 0.1\n",
            ["Task 'stars' expects files for train, dev or test. Found none."],
        ),
        ("name: s\nkind: regression\ntest: train.csv\ndev: 0.1\n", ["a share between 0 and 1 of its train file"]),
        (f"{TASK}dev: 1.5\n", ["a share between 0 and 1 of its train file. Found 1.5."]),
        (f"{TASK}dev: 0\n", ["a share between 0 and 1 of its train file. Found 0"]),
        (f"{TASK}dev: .nan\n", ["a share between 0 and 1 of its train file. Found nan."]),
        (f"{TASK}dev: absent.csv\n", ["Task 'stars' expects a file for dev. Found none at ", "absent.csv"]),
        (f"{TASK}dev: own.yaml\n", ["Expected a file that ends in .tsv, .csv, .jsonl, .json, .parquet. Found "]),
    ],
)
def test_wrong_descriptions(tmp_path, tiny_bert, description, parts):
    with assert_refuses(*parts):
        load(tmp_path, tiny_bert, description)


def test_a_file_that_is_not_there(tmp_path, tiny_bert):
    with assert_refuses("Expected a YAML file with tasks at ", "absent.yaml", "No such file"):
        load_tasks([str(tmp_path / "absent.yaml")], reading_in(tmp_path, tiny_bert))


def test_names_that_are_used_twice(tmp_path, tiny_bert):
    with assert_refuses("Expected each task once. Found 'stars' twice, again in ", "own.yaml"):
        load(tmp_path, tiny_bert, f"[{{{TASK.strip().replace(chr(10), ', ')}}}, {{name: stars, kind: regression}}]")
    other = str(write(tmp_path, {"other.yaml": TASK}) / "other.yaml")
    with assert_refuses("Expected each task once. Found 'stars' twice, again in ", "other.yaml"):
        load(tmp_path, tiny_bert, TASK, others=[other])
    for others in (["rte"], ["glue"]):
        with assert_refuses("Expected each task once. Found 'rte' in a file and among the published ones."):
            load(tmp_path, tiny_bert, TASK.replace("stars", "rte"), others=others)


def test_a_task_of_ones_own_may_have_the_name_of_a_published_one(tmp_path, tiny_bert):
    (task,) = load(tmp_path, tiny_bert, TASK.replace("stars", "superglue-rte"))
    assert task.kind.names == ("1", "2")
    (task,) = load(tmp_path, tiny_bert, TASK, others=[str(tmp_path / "own.yaml")])  # the same file twice
    assert task.name == "stars"


def test_names_may_hold_what_file_names_may_not(tmp_path, tiny_bert):
    (task,) = load(tmp_path, tiny_bert, TASK.replace("stars", "'my/stars: ten'"))
    assert task.size() == 2


@pytest.mark.parametrize(
    ("content", "fields", "part"),
    [
        ("", {}, ": expected at least one row. Found none."),
        ("text,label\n", {}, ": expected at least one row. Found none."),
        ("text,label\n", {"dev": 0.5}, ": expected at least one row. Found none."),
        (
            "text,label\nx,1\n",
            {"dev": 0.5, "labels": [1, 2]},
            ": expected two rows or more, to cut a dev split off. Found 1.",
        ),
        ("text,stars\nx,1\n", {}, ", line 2: expected a column 'label'. Found text, stars."),
        ("review,label\nx,1\nx,2\n", {}, ", line 2: expected a column 'text'. Found review, label."),
        ("text,label\nx,1\n ,2\n", {}, ", line 3: expected a text in column 'text'. Found an empty one."),
        (
            "text,label\nx,1\nx,\n",
            {"labels": [1, 2]},
            ", line 3: expected a label among 1, 2 in column 'label'. Found ''.",
        ),
        ("text,label\nx,1\nx,1\n", {}, "Task 'stars' expects two classes or more in column 'label'. Found 1."),
        (
            "text,label\nx,\n",
            {"without_label": "leave out"},
            "expects two classes or more in column 'label'. Found none.",
        ),
        ("text,label,label\nx,1,2\n", {}, ", line 1: expected each column once in the header. Found twice: 'label'."),
        ("text,label\nx,1\n\xff,2\n".encode("latin-1"), {}, ", line 3: expected UTF-8. Found the byte 0xff."),
    ],
)
def test_wrong_rows(tmp_path, tiny_bert, content, fields, part):
    with assert_refuses(f"{tmp_path / 'rows.csv'}{part}" if part[0] in ",:" else part):
        load_rows(tmp_path, tiny_bert, content, **fields)


def test_folders_that_are_no_data_sets(tmp_path, tiny_bert):
    (tmp_path / "empty").mkdir()
    description = TASK.replace("train.csv", "empty")
    with assert_refuses(f"{tmp_path / 'empty'}: expected a folder that `datasets` saved. Found: "):
        load(tmp_path, tiny_bert, description)
    table = datasets.Dataset.from_list([{"text": "x", "label": 1}, {"text": "x", "label": 0}])
    datasets.DatasetDict(validation=table).save_to_disk(tmp_path / "saved")
    with assert_refuses(f"{tmp_path / 'saved'}: expected a split 'train'. Found validation."):
        load(tmp_path, tiny_bert, TASK.replace("train.csv", "saved"))
    table.select([]).save_to_disk(tmp_path / "hollow")
    with assert_refuses(
        f"{tmp_path / 'hollow'}: expected a folder that `datasets` saved. Found: "
    ):  # it cannot be loaded
        load(tmp_path, tiny_bert, f"{TASK.replace('train.csv', 'hollow')}labels: [0, 1]\n")
    table.rename_column("text", "review").save_to_disk(tmp_path / "other")
    with assert_refuses(f"{tmp_path / 'other'}, row 1: expected a column 'text'. Found review, label."):
        load(tmp_path, tiny_bert, TASK.replace("train.csv", "other"))


def test_yes_and_no_are_what_yaml_makes_of_them(tmp_path, tiny_bert):
    rows = jsonl({"text": "x", "label": True}, {"text": "x", "label": False})
    description = TASK.replace("train.csv", "a.jsonl") + "labels: [no, yes]\n"
    (task,) = load(tmp_path, tiny_bert, description, {"a.jsonl": rows})
    assert task.kind.names == ("false", "true")
    with assert_refuses("line 1: expected a label among false, true in column 'label'. Found 'yes'."):
        load(tmp_path, tiny_bert, description, {"a.jsonl": jsonl({"text": "x", "label": "yes"})})


def test_a_table_is_no_task(tmp_path):
    with assert_refuses("a YAML file that describes them. Found a table, mine.csv.", "train: mine.csv, dev: 0.1"):
        load_tasks(["mine.csv"])


def test_a_table_with_other_separators_says_so(tmp_path, tiny_bert):
    with assert_refuses("expected a column 'label'. Found text;label. Separate columns by commas in a .csv"):
        load_rows(tmp_path, tiny_bert, "text;label\na cat;1\n", labels="[1, 2]")


def test_a_row_without_label_says_how_to_skip_it(tmp_path, tiny_bert):
    with assert_refuses("line 4: expected a label among 1, 2 in column 'label'. Found ''.", "without_label: leave out"):
        load_rows(tmp_path, tiny_bert, "text,label\na cat,1\na cow,2\na dog,\n")
