"""Two commands at once on one folder: a sample of `benchmarks/writers.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "writers.py"


@pytest.mark.parametrize("kind", ["resume", "new", pytest.param("compare,search,adapt", marks=pytest.mark.slow)])
def test_two_writers_damage_nothing(kind):
    done = subprocess.run([sys.executable, BENCHMARK, "--pairs", "1", "--kinds", kind], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("nothing damaged\n")
