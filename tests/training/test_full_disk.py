"""A disk that becomes full at any call that writes: a sample of `benchmarks/full_disk.py`, and all of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "full_disk.py"


@pytest.mark.parametrize("every", [23, pytest.param(1, marks=pytest.mark.slow)])
def test_a_disk_that_becomes_full_damages_nothing(every):
    done = subprocess.run([sys.executable, BENCHMARK, "--every", str(every)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("nothing damaged\n")
