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
NOISE = [
    "ignore::UserWarning",
    "ignore::FutureWarning",
    "ignore::DeprecationWarning",
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
]
pytestmark = [pytest.mark.filterwarnings(noise) for noise in NOISE]  # of the hosts


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def options_of(host, options):
    return {**options, "workers": 0} if host in WITHOUT_WORKERS else options


@pytest.mark.parametrize("host", HOSTS)
def test_a_training_goes_on_as_if_it_had_never_stopped(host, tmp_path):
    check_host(HOSTS[host], tmp_path, stops=(7, 12))


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTS)
def test_from_every_update_on(host, tmp_path):
    check_host(HOSTS[host], tmp_path, stops=EVERY, twice=False)


@pytest.mark.slow
@pytest.mark.parametrize("options", OTHERS, ids=lambda own: "-".join(map(str, own.values())))
@pytest.mark.parametrize("host", HOSTS)
def test_with_other_workers_updates_and_policies(host, options, tmp_path):
    check_host(functools.partial(HOSTS[host], **options_of(host, options)), tmp_path, stops=SOME)


def in_processes(host, folder, resume=None, processes=2, **options):
    """The same training in several processes."""
    words = [f"{name}={value}" for name, value in {**options, "resume": resume}.items() if value is not None]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [*launcher, HERE / "hosts.py", host, folder, *words]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr[-3000:]
    return load_file(folder / "weights")


# Streams are read whole by every process; their loop in `hosts.py` is that of one.
DISTRIBUTED = [host for host in HOSTS if host != "streams"]


@pytest.mark.slow
@pytest.mark.parametrize("host", DISTRIBUTED)
def test_two_processes_go_on_as_well(host, tmp_path):
    run = functools.partial(in_processes, host, workers=0)
    check_host(lambda folder, resume: run(folder, resume), tmp_path, stops=(1, 12), twice=False)


def test_two_processes_of_one_host_go_on_as_well(tmp_path):
    check_host(
        lambda folder, resume: in_processes("trainer", folder, resume, workers=0), tmp_path, stops=(7,), twice=False
    )


@pytest.mark.slow
def test_a_killed_training_goes_on(tmp_path):
    """SIGKILL at some moment, three times; whatever checkpoint is whole by then is gone on from."""
    whole = in_processes("trainer", tmp_path / "whole", processes=1, workers=0)
    folder, resume = tmp_path / "killed", None
    command = [sys.executable, HERE / "hosts.py", "trainer", folder, "workers=0"]
    for wanted in (4, 11, 18):
        words = [] if resume is None else [f"resume={resume}"]
        process = subprocess.Popen([*map(str, command), *words], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while not (folder / "out" / f"checkpoint-{wanted}" / "trainer_state.json").is_file():
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        resume = wanted - 1  # the newest one may be torn
    last = in_processes("trainer", folder, resume, processes=1, workers=0)
    assert all(torch.equal(whole[name], last[name]) for name in whole)
    assert (tmp_path / "whole/log/log.jsonl").read_bytes() == (folder / "log/log.jsonl").read_bytes()


def test_what_is_logged_is_one_source_per_update(tmp_path):
    HOSTS["packed"](tmp_path)
    lines = Run(tmp_path / "log").lines("step")
    assert [line["step"] for line in lines] == list(range(STEPS))
    assert len({line["task"] for line in lines}) == 3
    assert all(line["loss"] > 0 and line["n"] == 8 for line in lines)
