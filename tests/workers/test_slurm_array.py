"""The same comparison through an array of jobs and on this machine."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from run_tools import command

from rota.comparisons import make_comparison, run_comparison
from rota.runlog import LOG
from rota.workers import attempts_at
from rota.workers._slurm_array import SlurmArguments, SlurmWorkers

pytest.importorskip("submitit", reason="submitit is not installed")

PLAIN = ["proportional", "union", "temperature"]


def comparison(seeds, steps):
    content = {"methods": ["uniform", "exp3s"], "without": PLAIN}
    return make_comparison(content, {"tasks": ["digits"], "steps": steps, "device": "cpu"}, seeds=seeds)


def logs(folder):
    return {path.parent.name: path.read_bytes() for path in folder.glob(f"*/{LOG}")}


@pytest.fixture
def slurm(tmp_path):
    """The environment of a login node; see `slurm_commands.py`."""
    tools, state, private = (tmp_path / name for name in ("tools", "state", "private"))
    for folder in (tools, state, private):
        folder.mkdir()
    for name in ("sbatch", "srun", "sacct", "scancel"):
        program = Path(__file__).parent / "slurm_commands.py"
        (tools / name).write_text(f'#!/bin/sh\nexec {sys.executable} {program} {name} "$@"\n')
        (tools / name).chmod(0o755)
    path = f"{tools}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "SLURM_STAND_IN": str(state), "TMPDIR": str(private), "COLUMNS": "200"}


@pytest.mark.slow
def test_an_array_trains_what_this_machine_would_with_the_arguments_asked_for(slurm, tmp_path):
    flags = ["--methods", "uniform,exp3s", "--without", ",".join(PLAIN), "--tasks", "digits", "--seeds", "0"]
    flags += ["--steps", 30, "--device", "cpu", "--out", tmp_path / "array"]
    where = "slurm:partition=gpu,time=120,gpus=1,cpus=2,mem=16,account=mine"
    done = subprocess.run(
        command("compare", *flags, "--jobs", 1, "--on", where), env=slurm, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r" exp3s +\d", done.stdout)
    script = (tmp_path / "state" / "1.sh").read_text().splitlines()
    asked = {line.removeprefix("#SBATCH --") for line in script if line.startswith("#SBATCH")}
    assert asked >= {
        "array=0-1%1",
        "partition=gpu",
        "time=120",
        "gpus-per-node=1",
        "cpus-per-task=2",
        "mem=16GB",
        "account=mine",
    }
    list(run_comparison(comparison([0], 30), tmp_path / "here"))
    assert len(logs(tmp_path / "here")) == 2
    assert logs(tmp_path / "array") == logs(tmp_path / "here")
    assert all(attempts_at(tmp_path / "array" / name) == (1, 1) for name in logs(tmp_path / "here"))


@pytest.mark.slow
def test_a_job_that_is_lost_is_submitted_again(tmp_path):
    workers = SlurmWorkers(SlurmArguments(time=10), cluster="local")
    made, out = comparison([0, 1, 2], 400), tmp_path / "array"
    killed, ended = None, []
    for event in run_comparison(made, out, workers=workers):
        ended += [event.cell.name] if event.kind == "done" else []
        if event.kind == "started" and killed is None:
            killed = event.cell.name
            mark = json.loads((out / "attempts" / f"{killed}.jsonl").read_text().splitlines()[0])
            os.kill(int(re.search(r"process (\d+)", mark["where"])[1]), signal.SIGKILL)
    assert sorted(ended) == sorted(cell.name for cell in made.cells)
    list(run_comparison(made, tmp_path / "here"))
    assert logs(out) == logs(tmp_path / "here")
    attempts = {name: attempts_at(out / name) for name in logs(out)}
    assert attempts.pop(killed) == (2, 1)
    assert set(attempts.values()) == {(1, 1)}
