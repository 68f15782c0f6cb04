"""In every host: interrupted and resumed is never interrupted, to the last bit of decisions, rows and weights."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from hosts import HOSTS, POLICIES, STEPS
from safetensors.torch import load_file

from rota.runlog import Run

HERE = Path(__file__).parent
EVERY = tuple(range(1, STEPS))
SOME = (1, 7, 12, 23)
# GRPO asks for whole generations, and fetches prompts without workers.
WITHOUT_WORKERS = {"grpo", "streams"}
OTHERS = [
    {"workers": 0, "accumulation": 1, "policy": "exp3s"},
    {"workers": 2, "accumulation": 2, "policy": "auto"},
    {"workers": 0, "accumulation": 2, "policy": "roots"},
]


def program(host, folder, **options):
    """A training by itself."""
    words = [f"{name}={value}" for name, value in options.items() if value is not None]
    return [sys.executable, str(HERE / "hosts.py"), host, str(folder), *words]


def run(*args, **options):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(program(*args, **options), capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]


def check_in_program(host, folder, stops, twice=True, **options):
    """Interrupted and resumed, in a process of its own."""
    own = {**options, "workers": 0} if host in WITHOUT_WORKERS and options else options
    run(host, folder, check=",".join(map(str, stops)), twice=int(twice), **own)


@pytest.mark.parametrize("host", HOSTS)
def test_a_training_goes_on_as_if_it_had_never_stopped(host, tmp_path):
    check_in_program(host, tmp_path, (7, 12))


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTS)
def test_from_every_update_on(host, tmp_path):
    check_in_program(host, tmp_path, EVERY, twice=False)


@pytest.mark.slow
@pytest.mark.parametrize("options", OTHERS, ids=lambda own: "-".join(map(str, own.values())))
@pytest.mark.parametrize("host", HOSTS)
def test_with_other_workers_updates_and_policies(host, options, tmp_path):
    check_in_program(host, tmp_path, SOME, **options)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("host", HOSTS)
def test_two_processes_go_on_as_well(host, policy, tmp_path):
    check_in_program(host, tmp_path, SOME, twice=False, processes=2, workers=0, policy=policy)


@pytest.mark.parametrize("host", ["trainer", "streams"])
def test_two_processes_of_some_hosts_go_on_as_well(host, tmp_path):
    check_in_program(host, tmp_path, (7,), twice=False, processes=2, workers=0)


def whole_run(host, folder, resume=None):
    """The weights of a training in a program of its own."""
    run(host, folder, resume=resume, workers=0)
    return load_file(folder / "weights")


@pytest.mark.slow
def test_a_killed_training_goes_on(tmp_path):
    """SIGKILL at some moment, three times; whatever checkpoint is whole by then is gone on from."""
    whole = whole_run("trainer", tmp_path / "whole")
    folder, resume = tmp_path / "killed", None
    for wanted in (4, 11, 18):
        quiet = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        process = subprocess.Popen(program("trainer", folder, workers=0, resume=resume), **quiet)
        while not (folder / "out" / f"checkpoint-{wanted}" / "trainer_state.json").is_file():
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        resume = wanted - 1  # the newest one may be torn
    last = whole_run("trainer", folder, resume)
    assert all(torch.equal(whole[name], last[name]) for name in whole)
    assert (tmp_path / "whole/log/log.jsonl").read_bytes() == (folder / "log/log.jsonl").read_bytes()


def test_what_is_logged_is_one_source_per_update(tmp_path):
    run("packed", tmp_path)
    lines = Run(tmp_path / "log").lines("step")
    assert [line["step"] for line in lines] == list(range(STEPS))
    assert len({line["task"] for line in lines}) == 3
    assert all(line["loss"] > 0 and line["n"] == 8 for line in lines)
