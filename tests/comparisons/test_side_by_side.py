"""Comparisons whose runs share processes."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest
from run_tools import command

from rota.comparisons import IN_COMPANY, make_comparison, run_comparison
from rota.errors import RotaError
from rota.inference import Trained
from rota.runlog import LOG, Run
from rota.workers import Assignment

METHODS, SEEDS = ["uniform", "exp3s", "auto"], [0, 1, 2]
PLAIN = ["proportional", "union", "temperature"]


def comparison(**fields):
    fields = {"tasks": ["digits"], "steps": 60, "device": "cpu", **fields}
    return make_comparison({"methods": METHODS, "without": PLAIN}, fields, seeds=SEEDS)


def logs(folder):
    return {path.parent.name: path.read_bytes() for path in folder.glob(f"*/{LOG}")}


def test_the_number_of_processes_changes_no_byte(tmp_path):
    for jobs in (1, 2):
        kinds = [event.kind for event in run_comparison(comparison(), tmp_path / str(jobs), jobs)]
        assert kinds.count("done") == 9
    one, two = logs(tmp_path / "1"), logs(tmp_path / "2")
    assert len(one) == 9
    assert one == two


def test_comparisons_keep_logs_unless_told_otherwise(tmp_path):
    list(run_comparison(comparison(steps=4), tmp_path / "logs"))
    list(run_comparison(comparison(steps=4, keep="best"), tmp_path / "best"))
    for run in (tmp_path / "logs").iterdir():
        assert not (run / "checkpoints").exists()
        assert not (run / "best").exists()
        assert Run(run).finished
    for run in (tmp_path / "best").iterdir():
        assert not (run / "checkpoints").exists()
        assert len(list((run / "best").iterdir())) == 1
    Trained(tmp_path / "best" / "auto-0").model.eval()
    with pytest.raises(RotaError, match="kept its logs alone"):
        _ = Trained(tmp_path / "logs" / "auto-0").model
    again = [event.kind for event in run_comparison(comparison(steps=4, keep="best"), tmp_path / "logs")]
    assert set(again) == {"kept"}  # what stays says nothing about the numbers


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_comparison_that_was_ended_goes_on_to_the_same_bytes(tmp_path, how):
    flags = ["--methods", "exp3s,auto", "--tasks", "digits", "--seeds", "0,1", "--steps", 300, "--device", "cpu"]
    flags += ["--without", ",".join(PLAIN), "--checkpoint-every", 30]
    subprocess.run(command("compare", *flags, "--out", tmp_path / "whole"), check=True, capture_output=True)
    arguments = command("compare", *flags, "--out", tmp_path / "ended")
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    while process.poll() is None and len(list((tmp_path / "ended").glob("*/checkpoints/step-*"))) < 6:
        time.sleep(0.002)
    os.killpg(process.pid, how)
    process.wait()
    assert not (tmp_path / "ended" / "report.html").exists()
    subprocess.run(arguments, check=True, capture_output=True)
    assert logs(tmp_path / "whole") == logs(tmp_path / "ended")


@pytest.mark.parametrize(
    ("changes", "alike"),
    [
        ({"method": "exp3s", "seed": 3, "lr": 0.1}, True),
        ({"method": "cycle", "target": "left"}, True),  # all tasks have their heads
        ({"method": "singletask", "target": "left"}, False),
        ({"only": ["left"]}, False),
        ({"batch_size": 8}, False),
        ({"model": "lenet"}, False),
    ],
)
def test_runs_that_cannot_share_passes_are_of_different_kinds(changes, alike):
    usual = {"tasks": ["digits"], "method": "uniform", "seed": 0}
    kinds = [IN_COMPANY.kind(Assignment("own", "/runs/own", {**usual, **own})) for own in ({}, changes)]
    assert (kinds[0] == kinds[1]) == alike
