"""Comparisons of runs of a text encoder that train in one pass."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml
from run_tools import command

from rota.comparisons import make_comparison, run_comparison
from rota.runlog import LOG
from rota.runs import run_plan, side_by_side

METHODS = ["uniform", "exp3s", "auto", "counterfactual", "active", "mt-uncertainty", "mixed"]
PLAIN = ["proportional", "union", "temperature"]
WORDS = ["cat", "dog", "bird", "sat", "ran", "on", "in", "mat", "house", "tree", "red", "blue"]


@pytest.fixture
def fields(tmp_path, monkeypatch, tiny_bert):
    """Of a plan about two tasks of one's own."""
    monkeypatch.setenv("ROTA_CACHE", str(tmp_path / "cache"))
    rng = random.Random(0)
    for name, classes in (("stars", 2), ("colours", 3)):
        lines = [f"{' '.join(rng.choices(WORDS, k=rng.randint(2, 9)))},{k % classes}" for k in range(60)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,label", *lines]) + "\n")
        task = {"name": name, "kind": "classification", "train": f"{name}.csv", "dev": f"{name}.csv"}
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(task))
    tasks = [str(tmp_path / f"{name}.yaml") for name in ("stars", "colours")]
    numbers = {"steps": 12, "batch_size": 8, "eval_every": 6, "eval_rows": 8}
    return {"tasks": tasks, "model": str(tiny_bert), "device": "cpu", "engine": "stack", **numbers}


def logs(folder: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in folder.glob(f"*/{LOG}")}


def test_runs_of_all_sorts_have_the_bytes_of_runs_alone(tmp_path, fields):
    comparison = make_comparison({"methods": METHODS, "without": PLAIN}, fields, seeds=[0])
    assert side_by_side(comparison.cells[0].plan).places > 1
    ended = [(event.kind, event.said) for event in run_comparison(comparison, tmp_path / "together")]
    assert [kind for kind, _ in ended].count("done") == len(comparison.cells), ended
    for cell in comparison.cells:
        run_plan(cell.plan, cell.folder(tmp_path / "alone"), progress=False)
    one, other = logs(tmp_path / "together"), logs(tmp_path / "alone")
    assert len(one) == len(comparison.cells)
    assert one == other


def test_a_comparison_that_was_killed_goes_on_to_the_same_bytes(tmp_path, fields):
    flags = ["--methods", "exp3s,uniform", "--seeds", "0,1", "--device", "cpu", "--engine", "stack", "--steps", 60]
    flags += ["--tasks", ",".join(fields["tasks"]), "--model", fields["model"], "--batch-size", 8]
    flags += ["--without", ",".join(PLAIN), "--checkpoint-every", 6, "--eval-every", 30]
    subprocess.run(command("compare", *flags, "--out", tmp_path / "whole"), check=True, capture_output=True)
    arguments = command("compare", *flags, "--out", tmp_path / "killed")
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    while process.poll() is None and len(list((tmp_path / "killed").glob("*/checkpoints/step-*"))) < 6:
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "killed" / "report.html").exists()
    subprocess.run(arguments, check=True, capture_output=True)
    assert logs(tmp_path / "whole") == logs(tmp_path / "killed")
