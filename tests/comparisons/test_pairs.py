"""Each task alone and beside each other one: equal exposure, and a noisy task that helps nobody."""

from __future__ import annotations

import csv

import pytest

from rota.analysis import Ratio, read_transfer
from rota.comparisons import run_comparison, transfer_comparison
from rota.errors import RotaError
from rota.runlog import Run

FIELDS = {"tasks": ["digits"], "only": ["left", "right", "noise"], "device": "cpu", "batch_size": 8}
NAMES = ["left", "right", "noise"]


def rows_of(run, task):
    return [run.row_ids(task, line) for line in run.lines("step") if line["task"] == task]


@pytest.mark.parametrize("ratio", [Ratio(), Ratio(2, 1), Ratio(1, 3)])
def test_a_task_sees_the_same_rows_alone_and_beside_others(tmp_path, ratio):
    made = transfer_comparison(NAMES, {**FIELDS, "steps": 12}, [0], ["right"], [ratio])
    runs = {event.cell.variant: event.run for event in run_comparison(made, tmp_path) if event.kind == "done"}
    assert len(runs) == 3
    alone = runs.pop("right")
    assert alone.summary["updates"]["right"] == 12
    for variant, run in runs.items():
        assert run.summary["updates"]["right"] == 12, variant
        assert rows_of(run, "right") == rows_of(alone, "right")
        assert sum(run.summary["updates"].values()) == 12 + 12 * ratio.other // ratio.own
    table = read_transfer([alone, *runs.values()])
    assert {effect.pairing.helper for effect in table.effects} == {"left", "noise"}
    assert table.ratios == [ratio]


def test_pairs_serve_both_directions_only_where_both_are_asked_for():
    made = transfer_comparison(NAMES, FIELDS, [0])
    assert made.variants == ["left", "right", "left+right", "noise", "left+noise", "right+noise"]
    assert {cell.variant: cell.plan.target for cell in made.cells}["left+noise"] is None
    made = transfer_comparison(NAMES, FIELDS, [0], ["noise"], [Ratio(), Ratio(4, 1)])
    assert made.variants == ["noise", "noise+left", "noise+left-4-1", "noise+right", "noise+right-4-1"]
    assert {cell.plan.target for cell in made.cells} == {"noise"}


@pytest.mark.parametrize(
    ("tasks", "fields", "targets", "said"),
    [
        (["left"], {}, [], "at least two tasks"),
        (NAMES, {}, ["lefty"], "Did you mean 'left'"),
        (NAMES, {"method": "auto"}, [], "decides method itself"),
    ],
)
def test_what_is_no_table_of_transfer_is_refused(tasks, fields, targets, said):
    with pytest.raises(RotaError, match=said):
        transfer_comparison(tasks, {**FIELDS, **fields}, [0], targets)


def test_the_verb_prints_a_matrix_and_goes_on_where_it_was(rota_main, tmp_path):
    command = ("transfer", "--tasks", "digits", "--only", "left,right", "--steps", 4, "--seeds", "0,1")
    code, printed, err = rota_main(*command, "--device", "cpu", "--out", tmp_path / "t")
    assert code == 0, err
    assert "left+right, seed 1" in printed
    assert "What helps most" in printed
    with (tmp_path / "t" / "transfer.csv").open() as file:
        (first, second) = csv.DictReader(file)
    assert (first["task"], first["beside"], second["task"], first["seeds"]) == ("left", "right", "right", "2")
    runs = [Run(folder) for folder in (tmp_path / "t").iterdir() if folder.is_dir()]
    assert read_transfer(runs).effect("left", "right").gain.mean == pytest.approx(float(first["gain"]), abs=1e-6)
    assert float(first["mutual"]) == pytest.approx((float(first["gain"]) + float(second["gain"])) / 2, abs=1e-6)
    page = (tmp_path / "t" / "transfer.html").read_text()
    assert page.count("plotly-graph-div") >= 3
    _, again, _ = rota_main(*command, "--device", "cpu", "--out", tmp_path / "t", "--view", "normalised")
    assert again.count("kept") == 6
    assert "percent of what it lacks alone" in again
    _, mutual, _ = rota_main(*command, "--device", "cpu", "--out", tmp_path / "t", "--view", "mutual")
    assert "both tasks of a pair" in mutual


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--ratios", "0:1"), "such as 1:1 or 4:1"),
        (("--ratios", "2"), "such as 1:1 or 4:1"),
        (("--method", "auto"), "decides --method itself"),
        (("--only", "left"), "at least two tasks"),
        (("--targets", "nobody"), "nobody"),
        (("--on", "mars"), "mars"),
    ],
)
def test_wrong_flags_are_one_sentence(rota_main, tmp_path, flags, said):
    code, _, err = rota_main("transfer", "--tasks", "digits", "--out", tmp_path / "t", *flags)
    assert code == 2
    assert said in err
    assert not (tmp_path / "t").exists()


@pytest.mark.slow
def test_noise_helps_nobody(tmp_path):
    names = ["left", "right", "larger", "parity", "noise"]
    fields = {"tasks": ["digits"], "device": "cpu", "steps": 400}
    made = transfer_comparison(names, fields, range(5))
    table = read_transfer([event.run for event in run_comparison(made, tmp_path, jobs=2) if event.run is not None])
    beside_noise = [effect for effect in table.effects if effect.pairing.helper == "noise"]
    assert len(beside_noise) == 4
    assert all(effect.verdict != "helps" and effect.gain.low < 0 for effect in beside_noise)
