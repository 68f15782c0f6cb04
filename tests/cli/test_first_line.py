"""A verb that trains says something before anything slow begins: in a pipe, too."""

from __future__ import annotations

import subprocess
import sys

import pytest

STOPS_AT_THE_FIRST_LINE = """
import sys
from rota.cli import _console, main

class Stop:
    def print(self, line, **_):
        print(line, [name for name in ("torch", "sklearn", "plotly", "datasets") if name in sys.modules], flush=True)
        raise KeyboardInterrupt

_console.open_console = lambda stderr: Stop()  # where `tell` prints
main()
"""
VERBS = {
    "train": [],
    "train --dry-run": [],
    "compare": ["--methods", "exp3s"],
    "demo": [],
    "select": ["--target", "left"],
    "search": ["--target", "left"],
    "autosem": ["--target", "left"],
    "adapt": ["runs/old", "--task", "left"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_the_first_line_comes_before_anything_slow_is_loaded(verb, tmp_path):
    arguments = [sys.executable, "-c", STOPS_AT_THE_FIRST_LINE, *verb.split(), *VERBS[verb]]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 130, done.stderr
    assert done.stdout.endswith(" []\n"), done.stdout
    assert not list(tmp_path.iterdir())
