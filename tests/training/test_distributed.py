"""Two processes train what one process trains with the doubled batch."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import safetensors.torch
from run_tools import assert_same_run, checkpoints

from rota.runlog import LOG, Run

SCRIPT = Path(__file__).with_name("double.py")
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}


def launching(processes, *arguments):
    """The command that runs the arguments in so many processes, as torchrun does."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    many = ["-m", "torch.distributed.run", f"--nproc-per-node={processes}", f"--master-port={port}"]
    return [sys.executable, *(many if processes > 1 else []), *map(str, arguments)]


def launch(processes, *arguments):
    return subprocess.run(launching(processes, *arguments), capture_output=True, text=True, env=ONE_THREAD)


def weights(folder):
    return safetensors.torch.load_file(folder / "checkpoints" / checkpoints(folder)[-1] / "model.safetensors")


def largest_difference(one, other):
    ours, theirs = weights(one), weights(other)
    return max((ours[name] - theirs[name]).abs().max().item() for name in ours)


@pytest.mark.parametrize("stream", ["task", "joint"])
def test_two_processes_are_one_with_the_doubled_batch(tmp_path, stream):
    """In double precision, so that AdamW does not blow rounding up: any other difference would show."""
    one = launch(1, SCRIPT, tmp_path / "one", stream, 8, 40, -1)
    two = launch(2, SCRIPT, tmp_path / "two", stream, 4, 40, -1)
    assert one.returncode == 0, one.stderr
    assert two.returncode == 0, two.stderr
    assert largest_difference(tmp_path / "one", tmp_path / "two") < 1e-9
    said = [json.loads((tmp_path / f"{name}.json").read_text()) for name in ("one-rank0", "two-rank0", "two-rank1")]
    assert said[0] == said[1] == said[2]
    ours, theirs = (Run(tmp_path / name).lines("step") for name in ("one", "two"))
    for line, twin in zip(ours, theirs, strict=True):
        if stream == "task":
            assert (line["task"], line["rows"]) == (twin["task"], twin["rows"])
            assert line["probability"] == pytest.approx(twin["probability"], abs=1e-9)
            assert line["value"] == pytest.approx(twin["value"], abs=1e-9)
        else:
            assert {t: p["rows"] for t, p in line["tasks"].items()} == {t: p["rows"] for t, p in twin["tasks"].items()}
    evaluations = [[line["average"] for line in Run(tmp_path / name).lines("eval")] for name in ("one", "two")]
    assert evaluations[0] == evaluations[1]


def test_two_processes_stopped_and_resumed_are_never_stopped(tmp_path):
    assert launch(2, SCRIPT, tmp_path / "whole", "task", 4, 40, -1).returncode == 0
    assert launch(2, SCRIPT, tmp_path / "cut", "task", 4, 40, 23).returncode != 0
    assert checkpoints(tmp_path / "cut")[-1] == "step-00000020"
    resumed = launch(2, SCRIPT, tmp_path / "cut", "task", 4, 40, -2)
    assert resumed.returncode == 0, resumed.stderr
    assert_same_run(tmp_path / "whole", tmp_path / "cut")
    alone = launch(1, SCRIPT, tmp_path / "cut", "task", 4, 40, -2)
    assert "processes (was 2, now 1)" in alone.stderr


def test_two_processes_that_are_asked_to_end_save_the_same_step(tmp_path):
    flags = ["-m", "rota", "train", "--tasks", "left,right", "--method", "uniform", "--steps", 300, "--batch-size", 4]
    flags += ["--eval-every", 300, "--checkpoint-every", 300, "-q", "--out"]
    assert launch(2, *flags, tmp_path / "whole").returncode == 0
    cut = tmp_path / "cut"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(launching(2, *flags, cut), text=True, env=ONE_THREAD, **pipes)
    while process.poll() is None and not ((cut / LOG).is_file() and (cut / LOG).stat().st_size):
        time.sleep(0.005)
    process.terminate()  # torchrun, which passes it on
    said = process.communicate()[1]
    (saved,) = checkpoints(cut)
    assert f"rota: stopped and saved at step {int(saved.removeprefix('step-'))}. Go on with: rota train" in said
    assert saved < "step-00000300"
    assert launch(2, "-m", "rota", "train", "--resume", cut, "-q").returncode == 0
    assert_same_run(tmp_path / "whole", cut)


def test_the_command_line_in_two_processes(tmp_path):
    """In single precision and with sgd the weights agree to 1e-6; dropout has to be off for that."""
    flags = ["-m", "rota", "train", "--steps", 40, "--dropout", 0, "--optimizer", "sgd", "--lr", 0.05, "-q"]
    one = launch(1, *flags, "--batch-size", 32, "--out", tmp_path / "one")
    two = launch(2, *flags, "--batch-size", 16, "--out", tmp_path / "two")
    assert one.returncode == 0, one.stderr
    assert two.returncode == 0, two.stderr
    assert largest_difference(tmp_path / "one", tmp_path / "two") < 1e-6
    decisions = [[(x["task"], x["rows"]) for x in Run(tmp_path / name).lines("step")] for name in ("one", "two")]
    assert decisions[0] == decisions[1]


@pytest.mark.parametrize("method", ["active", "counterfactual"])
def test_methods_that_look_or_train_beside_the_run_work_in_two_processes(tmp_path, method):
    """Both processes hear the same: otherwise the second run would not be the first again."""
    flags = ["-m", "rota", "train", "--tasks", "left,right", "--steps", 40, "--batch-size", 8, "--method", method, "-q"]
    flags += ["--option", "every=10", "--option", "rows=25"] if method == "active" else []
    for name in ("one", "again"):
        done = launch(2, *flags, "--out", tmp_path / name)
        assert done.returncode == 0, done.stderr
    assert_same_run(tmp_path / "one", tmp_path / "again")
    if method == "active":
        assert len(Run(tmp_path / "one").lines("survey")) == 3
    else:
        assert Run(tmp_path / "one").summary["cost"]["runs"] == 2
