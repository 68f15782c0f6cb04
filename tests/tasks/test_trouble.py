"""Planted trouble: in training rows alone, as much as asked for, the same in every run, whoever fetches the rows."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from rota.data import load_tasks
from rota.errors import RotaError
from rota.plans import make_plan, tasks_of
from rota.tasks import (
    Classification,
    Regression,
    Rows,
    SupportsDeviceRows,
    Task,
    TensorRows,
    Trouble,
    adjust_tasks,
    with_trouble,
)

DIGITS = {"tasks": ["digits"], "only": ["left", "right"], "device": "cpu"}


def rows_of(count=200, classes=4):
    labels = torch.from_numpy(np.random.default_rng(0).integers(0, classes, count))
    return TensorRows({"x": torch.arange(float(count))}, labels)


@pytest.mark.parametrize("part", [0.0, 0.3, 1.0])
def test_the_asked_part_of_the_labels_is_wrong_and_none_by_chance_right(part):
    rows = rows_of()
    bad = with_trouble(rows, Trouble(mislabelled=part), Classification(4), "rte")
    assert int((bad.labels() != rows.labels()).sum()) == round(part * 200)
    assert set(bad.labels().tolist()) <= set(range(4))
    again = with_trouble(rows, Trouble(mislabelled=part), Classification(4), "rte")
    assert torch.equal(bad.labels(), again.labels())
    other = with_trouble(rows, Trouble(mislabelled=part), Classification(4), "mrpc")
    assert part == 0 or not torch.equal(bad.labels(), other.labels())


def test_shuffled_labels_are_the_same_labels_in_no_relation_to_the_rows():
    rows = rows_of(2000)
    bad = with_trouble(rows, Trouble(shuffled=True), Classification(4), "rte")
    assert bad.labels().sort().values.tolist() == rows.labels().sort().values.tolist()
    assert float((bad.labels() == rows.labels()).double().mean()) == pytest.approx(0.25, abs=0.04)


def test_numbers_are_those_of_other_rows():
    rows = TensorRows({"x": torch.zeros(50)}, torch.arange(50.0))
    bad = with_trouble(rows, Trouble(mislabelled=0.4), Regression(), "stsb")
    assert sorted(bad.labels().tolist()) == rows.labels().tolist()
    assert int((bad.labels() != rows.labels()).sum()) == 20


@pytest.mark.parametrize("suite", ["digits", "toytext"])
def test_inputs_stay_and_all_ways_to_fetch_a_row_agree(suite):
    task = load_tasks([suite])[0]
    rows: Rows = task.splits["train"]
    bad = with_trouble(rows, Trouble(mislabelled=0.5, duplicated=3), task.kind, task.name)
    assert len(bad) == 3 * len(rows)
    ids = np.array([5, 0, len(rows) + 5])
    batch = bad.batch(ids)
    assert torch.equal(batch.labels, bad.labels()[ids])
    assert batch.labels[0] == batch.labels[2]
    for name, own in rows.batch(ids % len(rows)).inputs.items():
        assert torch.equal(batch.inputs[name], own)
    assert isinstance(bad, SupportsDeviceRows) == isinstance(rows, SupportsDeviceRows)
    moved = bad.device_rows().to(torch.device("cpu")).take(torch.from_numpy(ids))
    assert torch.equal(moved.labels, batch.labels)
    assert all(torch.equal(moved.inputs[name], own) for name, own in batch.inputs.items())
    assert torch.equal(bad.take(ids).labels(), batch.labels)
    lengths = rows.lengths()
    assert (lengths is None) == (bad.lengths() is None)
    assert lengths is None or bad.lengths()[ids].tolist() == lengths[ids % len(rows)].tolist()


def test_a_plan_plants_it_in_training_rows_alone_and_a_run_records_it(rota_main, tmp_path):
    changes = {"left": {"mislabelled": 0.3}, "right": {"duplicated": 20}}
    clean = {task.name: task for task in tasks_of(make_plan(DIGITS))}
    bad = {task.name: task for task in tasks_of(make_plan({**DIGITS, "per_task": changes}))}
    wrong = bad["left"].splits["train"].labels() != clean["left"].splits["train"].labels()
    assert int(wrong.sum()) == 360
    assert bad["right"].size("train") == 20 * clean["right"].size("train")
    for name, task in bad.items():
        for split in ("dev", "test"):
            assert torch.equal(task.splits[split].labels(), clean[name].splits[split].labels())
    code, _, err = rota_main(
        *("train", "--tasks", "digits", "--only", "left,right", "--device", "cpu", "--steps", 3),
        *("--per-task", "left.mislabelled=0.3,right.duplicated=20", "--out", tmp_path / "run"),
    )
    assert code == 0, err
    info = json.loads((tmp_path / "run" / "run.json").read_text())
    assert info["plan"]["per_task"]["left"]["mislabelled"] == 0.3
    assert info["tasks"]["right"]["rows"]["train"] == 8000


def test_a_task_whose_labels_are_shuffled_learns_nothing(rota_main, tmp_path):
    command = ("train", "--tasks", "digits", "--only", "left,right", "--device", "cpu", "--steps", 120)
    assert rota_main(*command, "--method", "uniform", "--out", tmp_path / "good")[0] == 0
    shuffled = (*command, "--method", "uniform", "--per-task", "left.shuffled=true", "--out", tmp_path / "bad")
    assert rota_main(*shuffled)[0] == 0
    scores = [
        json.loads((tmp_path / name / "summary.json").read_text())["best"]["dev"]["tasks"]["left"]["score"]
        for name in ("good", "bad")
    ]
    assert scores[0] > scores[1] + 0.1
    assert scores[1] < 0.2  # ten classes


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"roles": {"shuffled": True}}, "one label per row"),
        ({"who": {"mislabelled": 0.1}}, "one label per row"),
        ({"mood": {"mislabelled": 1.5}}, "mislabelled"),
        ({"mood": {"duplicated": 0}}, "duplicated"),
    ],
)
def test_trouble_that_cannot_be_is_one_sentence(changes, said):
    with pytest.raises(RotaError, match=said):
        tasks_of(make_plan({"tasks": ["toytext"], "per_task": changes}))


def test_trouble_of_a_task_that_is_only_evaluated_is_refused():
    rows = rows_of()
    with pytest.raises(RotaError, match="training rows for trouble"):
        adjust_tasks([Task("rte", Classification(4), {"dev": rows})], {"rte": {"shuffled": True}})
