"""Which rows a line of the log tells of: numbers, or a place in the passes from which they follow."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rota.draws import Queue
from rota.errors import RotaError
from rota.mixing import Mix
from rota.policies import uniform
from rota.runlog import Run, read_turns


@pytest.mark.parametrize("partial", ["short", "fill", "drop"])
@pytest.mark.parametrize("blend", [False, True])
def test_row_numbers_follow_from_their_place(tmp_path, partial, blend):
    data = {"a": range(13), "b": range(5)}
    found = {}
    for name, log_rows in (("numbers", True), ("places", False)):
        mix = Mix(
            data, uniform(["a", "b"]), 4, seed=5, partial=partial, blend=blend, epoch=40,
            log=tmp_path / name, log_rows=log_rows,
        )  # fmt: skip
        for _ in mix:
            mix.tell(dict.fromkeys(mix._open._open[0].tasks, 1.0) if blend else 1.0)
        mix.close()
        run = Run(tmp_path / name)
        found[name] = [
            {task: run.row_ids(task, part) for task, part in (line.get("tasks") or {line["task"]: line}).items()}
            for line in run.lines("step")
        ]
        assert len(found[name]) == 40
    assert found["numbers"] == found["places"]
    assert max(len(own) for line in found["places"] for own in line.values()) == 4 or blend


def test_rows_of_similar_length_have_numbers():
    grouped = Queue("a", 6, 2, seed=0, lengths=np.array([3, 1, 2, 3, 1, 2]))
    assert grouped.span(0, 2) is None


def test_a_line_of_a_step_is_short(tmp_path):
    mix = Mix({"a": range(10_000)}, uniform(["a"]), 32, epoch=100, log=tmp_path / "r")
    for _ in mix:
        mix.tell(0.123456789012345678)
    mix.close()
    assert (tmp_path / "r" / "log.jsonl").stat().st_size / 100 <= 160


def test_turns_are_those_of_whole_lines_and_a_torn_end_is_left_out(tmp_path):
    path = tmp_path / "log.jsonl"
    lines = [
        {"kind": "note", "step": 0},
        {"kind": "step", "step": 0, "task": "ä", "probability": 0.5, "loss": 1.0},
        {"kind": "step", "step": 1, "task": 'a "b" \\', "probability": 0.5},
        {"kind": "step", "step": 2, "task": None, "tasks": {"a": {"loss": 1.0}}},
        {"kind": "step", "step": 3, "task": "a", "probability": 0.5},
    ]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    path.write_text(text + '{"kind":"step","step":4,"task":"a","los')
    found = list(read_turns(path))
    assert found == [lines[0], lines[1], lines[2], lines[3], (3, "a")]  # what is escaped is read as JSON
    path.write_text(text + "no JSON\n")
    with pytest.raises(RotaError, match="line 6"):
        list(read_turns(path))
