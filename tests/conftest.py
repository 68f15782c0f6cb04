"""What tests share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("rota", deadline=None)  # a busy machine is no failure
settings.load_profile("rota")

sys.path.insert(0, str(Path(__file__).parent))  # for `run_tools.py`


@pytest.fixture
def rota_main(monkeypatch, capsys):
    """Run the command line in this process; returns exit code, output and errors."""

    def run(*arguments):
        from rota.cli import main

        monkeypatch.setattr(sys, "argv", ["rota", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1 if end.code else 0
        said = capsys.readouterr()
        return code, said.out, said.err

    return run
