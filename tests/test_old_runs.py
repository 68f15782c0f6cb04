"""Runs that version 0.1.0 wrote, before sources had a name: they are read, and not gone on with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rota.inference import Trained
from rota.offpolicy import value
from rota.runlog import Run

OLD = Path(__file__).parent / "old_runs"


def test_an_old_run_is_evaluated_as_it_was():
    run = Run(OLD / "active")
    found = Trained(OLD / "active").evaluate("test")
    assert found["average"] == pytest.approx(run.summary["best"]["test"]["average"], abs=0.005)  # machines differ
    assert value(OLD / "active", {"left": 0.5, "right": 0.5}).effective_sample_size > 5


def test_old_runs_are_reported(rota_main, tmp_path):
    code, _, errors = rota_main("report", OLD, "-o", tmp_path / "page.html")
    assert code == 0, errors
    page = (tmp_path / "page.html").read_text()
    assert all(part in page for part in ("Convergence", "Rounds", "unsure"))  # of surveys, and of branches
    assert Run(OLD / "alphavil").trial["target"] == "left"


@pytest.mark.parametrize("name", ["active", "alphavil"])
def test_an_old_run_is_not_gone_on_with(rota_main, tmp_path, name):
    shutil.copytree(OLD / name, tmp_path / name)
    (tmp_path / name / "summary.json").unlink()
    code, _, errors = rota_main("train", "--resume", tmp_path / name)
    assert code == 2
    assert "expects the version of rota that started it" in errors


def test_an_old_run_answers(rota_main, tmp_path):
    code, out, errors = rota_main("improve", OLD / "active", "-o", tmp_path / "mixture.json")
    assert code == 0, errors
    assert json.loads((tmp_path / "mixture.json").read_text())["mixture"].keys() == {"left", "right"}
    assert "estimated reward" in out
