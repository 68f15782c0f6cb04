"""A run that was written by hand looks to readers like one that was trained."""

from __future__ import annotations

import gc

import pytest

from rota.analysis import all_scores, data_used, group_runs, read_history
from rota.plans import make_plan
from rota.runs import run_plan
from rota.testing import written_run

SCORES = {"left": [0.5, 0.75], "right": [0.25, 0.5]}


def test_its_files_have_the_fields_of_a_trained_run(tmp_path):
    plan = make_plan({"tasks": ["digits"], "only": ["left", "right"], "method": "uniform", "steps": 4, "eval_every": 2})
    trained, written = run_plan(plan, tmp_path / "run", progress=False), written_run(SCORES)
    assert written.info.keys() <= trained.info.keys()
    assert written.plan.keys() <= trained.plan.keys()
    assert written.summary.keys() <= trained.summary.keys()
    assert written.summary["best"].keys() <= trained.summary["best"].keys()
    assert written.info["tasks"]["left"].keys() <= trained.info["tasks"]["left"].keys()
    ways = {"ids", "rows"}  # to say which rows were in an update
    assert written.lines("step")[0].keys() - ways == trained.lines("step")[0].keys() - ways
    assert written.lines("eval")[0].keys() <= trained.lines("eval")[0].keys()


def test_it_tells_what_it_was_given():
    run = written_run(SCORES, "exp3s", seed=3, every=4, auxiliary=["right"], plan={"lr": 0.1}, device="cpu")
    assert (run.plan["method"], run.plan["seed"], run.plan["lr"], run.info["device"]) == ("exp3s", 3, 0.1, "cpu")
    assert read_history(run).score["right"] == {4: 0.25, 8: 0.5}
    assert read_history(run).loss["left"] == {4: 0.5, 8: 0.25}
    assert all_scores(group_runs([run])).rows[0].average.mean == 0.75
    assert data_used(run)["left"].examples == 8
    assert run.summary["updates"] == {"left": 4, "right": 4}
    assert run.summary["cost"]["train"] == 16


def test_it_may_be_in_the_middle_of_its_training_and_say_more():
    run = written_run(SCORES, finished=False, lines=[{"kind": "survey", "step": 4, "tasks": {}}])
    assert not run.finished
    assert run.lines()[-1]["kind"] == "survey"


def test_a_temporary_folder_goes_with_its_run_and_others_stay(tmp_path):
    run = written_run(SCORES)
    folder = run.folder.parent
    assert folder.is_dir()
    del run
    gc.collect()
    assert not folder.exists()
    kept = written_run(SCORES, folder=tmp_path / "kept").folder
    gc.collect()
    assert kept.is_dir()


def test_it_overwrites_nothing(tmp_path):
    written_run(SCORES, folder=tmp_path / "run")
    with pytest.raises(FileExistsError):
        written_run(SCORES, folder=tmp_path / "run")
