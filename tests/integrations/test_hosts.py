"""In every host: interrupted and resumed is never interrupted, to the last bit of decisions, rows and weights."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from hosts import HOSTS, STEPS
from safetensors.torch import load_file

from rota.runlog import Run
from rota.testing import check_host

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


def program(host, folder, processes=None, **options):
    """A training by itself, in one or several processes."""
    words = [f"{name}={value}" for name, value in options.items() if value is not None]
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)] if processes else []
    return [sys.executable, *launcher, str(HERE / "hosts.py"), host, str(folder), *words]


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


def in_processes(host, folder, resume=None, processes=2):
    """The weights of the same training in several processes."""
    run(host, folder, processes=processes, resume=resume, workers=0)
    return load_file(folder / "weights")


# Streams are read whole by every process; their loop in `hosts.py` is that of one.
DISTRIBUTED = [host for host in HOSTS if host != "streams"]


@pytest.mark.slow
@pytest.mark.parametrize("host", DISTRIBUTED)
def test_two_processes_go_on_as_well(host, tmp_path):
    check_host(functools.partial(in_processes, host), tmp_path, stops=(1, 12), twice=False)


def test_two_processes_of_one_host_go_on_as_well(tmp_path):
    check_host(functools.partial(in_processes, "trainer"), tmp_path, stops=(7,), twice=False)


@pytest.mark.slow
def test_a_killed_training_goes_on(tmp_path):
    """SIGKILL at some moment, three times; whatever checkpoint is whole by then is gone on from."""
    whole = in_processes("trainer", tmp_path / "whole", processes=1)
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
    last = in_processes("trainer", folder, resume, processes=1)
    assert all(torch.equal(whole[name], last[name]) for name in whole)
    assert (tmp_path / "whole/log/log.jsonl").read_bytes() == (folder / "log/log.jsonl").read_bytes()


def test_what_is_logged_is_one_source_per_update(tmp_path):
    run("packed", tmp_path)
    lines = Run(tmp_path / "log").lines("step")
    assert [line["step"] for line in lines] == list(range(STEPS))
    assert len({line["task"] for line in lines}) == 3
    assert all(line["loss"] > 0 and line["n"] == 8 for line in lines)
