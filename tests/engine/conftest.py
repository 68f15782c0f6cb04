"""Engines that capture, without a GPU."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for `rerun.py`


@pytest.fixture
def captured(monkeypatch):
    """`engine="graph"` captures here; returns what captures, in the order in which it was made."""
    from rerun import Rerun

    made = []

    def make(device):
        made.append(Rerun(device))
        return made[-1]

    monkeypatch.setattr("rota.engine._capturer.CudaGraphs", make)
    monkeypatch.setattr("rota.engine._graph.room_on", lambda device: 2**24)
    monkeypatch.setattr("rota.training._resolve._why_eager", lambda *_: None)
    return made
