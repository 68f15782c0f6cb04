"""A sample of `benchmarks/kills.py`, and whether it notices a run that did not go on as it should."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

from fit_tools import train
from run_tools import checkpoints

from rota.runlog import LOG

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_killed_in_every_way_and_resumed_is_never_stopped():
    flags = ["--count", "4", "--cases", "exp3s-visits", "--seed", "7"]
    done = subprocess.run([sys.executable, BENCHMARKS / "kills.py", *flags], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    last = [line for line in done.stdout.splitlines() if line.startswith("all")][-1]
    assert sum(map(int, last.split()[1:5])) >= 4


def test_every_difference_is_noticed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    difference = runpy.run_path(str(BENCHMARKS / "kills.py"))["difference"]
    one, other = tmp_path / "one", tmp_path / "other"
    train(one)
    shutil.copytree(one, other)
    assert difference(one, other) is None
    weights = other / "checkpoints" / checkpoints(other)[-1] / "model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert difference(one, other) == "weights of checkpoints differ"
    weights.write_bytes(content)
    (other / "best" / "tmp-step-00000010").mkdir()
    assert difference(one, other) == "best/tmp-step-00000010 is left"
    (other / "best" / "tmp-step-00000010").rmdir()
    with (other / LOG).open("a") as log:
        log.write(" ")
    assert difference(one, other) == "log.jsonl differs"
