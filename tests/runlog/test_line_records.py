"""Lines about tasks that come, leave and are parked are read back, and damaged ones are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rota.runlog._line_records import read_line
from rota.runlog._records import DamagedFileError

GOOD = [
    {"kind": "tasks", "step": 7, "added": ["d"], "dropped": [], "rows": {"d": 7}, "mixture": {"a": 0.25, "d": 0.75}},
    {"kind": "parked", "step": 3, "task": "c", "reason": "its last 3 losses are no numbers"},
    {"kind": "unparked", "step": 9, "task": "c"},
]


@pytest.mark.parametrize("line", GOOD, ids=lambda line: line["kind"])
def test_good_lines_are_read_as_they_stand(line):
    assert read_line(json.dumps(line).encode(), Path("log.jsonl"), 1) == line


@pytest.mark.parametrize(
    ("number", "field", "value"),
    [
        (0, "added", "d"),
        (0, "dropped", [1]),
        (0, "mixture", ["a"]),
        (0, "step", -1),
        (1, "task", None),
        (1, "reason", 3),
    ],
)
def test_damaged_lines_name_the_field(number, field, value):
    raw = json.dumps({**GOOD[number], field: value}).encode()
    with pytest.raises(DamagedFileError, match=rf"log\.jsonl, line 4: .*'{field}"):
        read_line(raw, Path("log.jsonl"), 4)
