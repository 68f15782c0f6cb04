"""Which rows of a task its difficulty is measured on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from glue_tools import write_cola, write_pairs

from rota.data import Reading, difficulty, raw_tasks, task_difficulty
from rota.errors import RotaError


def measured(name, folder):
    (task,) = raw_tasks([name], Reading(folder))
    return task_difficulty(task)


ROWS = [("Red cat, red dog.", 0), ("The red bird's!", 1), ("cat", 0)]


def test_the_training_rows_are_measured(tmp_path):
    write_cola(tmp_path, ROWS)
    write_cola(tmp_path, [("blue", 0), ("blue", 1)], "dev")
    found = measured("cola", tmp_path)
    assert (found.task, found.split, found.rows) == ("cola", "train", 3)
    assert found.terms == difficulty([text for text, _ in ROWS], [label for _, label in ROWS])
    assert found.terms.distinct == pytest.approx(5 / 8)  # red cat dog the birds


def test_without_training_rows_others_are(tmp_path):
    write_cola(tmp_path, ROWS, "dev")
    found = measured("cola", tmp_path)
    assert (found.split, found.rows) == ("dev", 3)


def test_both_texts_of_a_pair_are_one(tmp_path):
    write_pairs(tmp_path, [("red cat", "a dog", "entailment"), ("blue cat", "", "not_entailment")])
    assert measured("rte", tmp_path).terms == difficulty(["red cat a dog", "blue cat"], [0, 1])


def test_own_tasks_lose_the_rows_that_are_cut_off_for_dev(tmp_path):
    (tmp_path / "mine.csv").write_text("text,label\n" + "".join(f"w{k} again,{k % 2}\n" for k in range(20)))
    (tmp_path / "mine.yaml").write_text("{name: mine, kind: classification, train: mine.csv, dev: 0.2}")
    found = measured(str(tmp_path / "mine.yaml"), None)
    assert (found.task, found.rows) == ("mine", 16)
    assert found.terms.distinct == pytest.approx(17 / 32)


def test_rows_without_classes_have_none(tmp_path):
    (tmp_path / "mine.csv").write_text("text,label\na b,0.5\nc,1.5\n")
    (tmp_path / "mine.yaml").write_text("{name: mine, kind: regression, train: mine.csv, dev: mine.csv}")
    assert measured(str(tmp_path / "mine.yaml"), None) is None


def test_what_cannot_be_measured_is_refused(tmp_path):
    write_cola(tmp_path, [("red", 1), ("blue", 1)])
    with pytest.raises(RotaError, match="Task 'cola', train rows: Expected texts with words in at least two classes"):
        measured("cola", tmp_path)
    with pytest.raises(RotaError, match="Found 'left' of the suite 'digits'"):
        raw_tasks(["left"])


def test_the_order_that_is_printed_in_the_paper():
    if not os.environ.get("ROTA_DATA"):
        pytest.skip("needs real data sets in a folder that $ROTA_DATA names")
    folder = Path(os.environ["ROTA_DATA"])
    found = {name: round(measured(name, folder).terms.total, 3) for name in ("cola", "rte", "mrpc", "sst2")}
    assert found == {"cola": 3.638, "rte": 3.499, "mrpc": 3.415, "sst2": 3.285}
