"""The mean over the tokens of a batch is the same in two processes, whichever rows each of them has."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_distributed import largest_difference, launch

from rota.runlog import Run

SCRIPT = Path(__file__).with_name("double_tokens.py")


@pytest.mark.parametrize("stream", ["task", "joint"])
def test_two_processes_are_one_with_the_doubled_batch_in_tokens_too(tmp_path, stream):
    one = launch(1, SCRIPT, tmp_path / "one", stream, 8)
    two = launch(2, SCRIPT, tmp_path / "two", stream, 4)
    assert one.returncode == 0, one.stderr
    assert two.returncode == 0, two.stderr
    assert largest_difference(tmp_path / "one", tmp_path / "two") < 1e-9
    ours, theirs = (Run(tmp_path / name) for name in ("one", "two"))
    for line, twin in zip(ours.lines("step"), theirs.lines("step"), strict=True):
        if stream == "task":
            assert (line["task"], line["tokens"]) == (twin["task"], twin["tokens"])
            assert line["loss"] == pytest.approx(twin["loss"], abs=1e-9)
            assert line["value"] == pytest.approx(twin["value"], abs=1e-9)
    assert ours.summary["best"]["dev"]["loss"] == pytest.approx(theirs.summary["best"]["dev"]["loss"], abs=1e-9)
    assert ours.summary["cost"]["tokens"] == theirs.summary["cost"]["tokens"]
