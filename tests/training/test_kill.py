"""A run that is killed without warning, again and again, ends as the run that was never stopped."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest
from run_tools import assert_same_run, checkpoints, kill_at_random, rota


@pytest.mark.parametrize("workers", [0, 2])
def test_killed_at_random_moments_and_resumed_is_never_stopped(tmp_path, workers):
    arguments = ["train", "--method", "exp3s", "--steps", 240, "--eval-every", 40, "--checkpoint-every", 10, "-q"]
    arguments += ["--num-workers", workers]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert rota(*arguments, "--out", whole).returncode == 0
    rng = random.Random(workers)
    kill_at_random([*arguments, "--out", cut], cut, rng)
    assert checkpoints(cut)
    for _ in range(2):
        kill_at_random(["train", "--resume", cut, "-q"], cut, rng)
    last = rota("train", "--resume", cut, "-q")
    assert last.returncode == 0, last.stderr
    assert_same_run(whole, cut)
    assert not processes_of(cut), "the workers of a killed run end with it"


def processes_of(folder):
    """Command lines of the processes that were started for a run folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = place.read_bytes().decode(errors="replace")
            found += [line] if str(folder) in line else []
    return found
