"""A run folder whose every text wants to be HTML: a browser shows the page, and nothing of it is executed."""

from __future__ import annotations

import json

import pytest
from browser_tools import needs_browser, opened

from rota.plans import make_plan
from rota.runlog import LOG, RUN, SUMMARY
from rota.runs import run_plan

BOMBS = (
    "<script>document.title='executed'</script>",
    "<img src=x onerror=\"document.title='executed'\">",
    "</script><svg onload=document.title='executed'>",
    "'-document.title='executed'-'",
)
KEPT = {"kind", "split", "stopped", "rule", "device", "id", "created"}  # words of a closed list, and an id

pytestmark = needs_browser


def armed(value, bomb, names, key=""):
    """The same content with a bomb in each of its texts, and in the names of tasks."""
    if isinstance(value, dict):
        return {
            (f"{k}{bomb}" if k in names else k): armed(v, bomb, names, "task" if k in names else k)
            for k, v in value.items()
        }
    if isinstance(value, list):
        return [armed(item, bomb, names, key) for item in value]
    return f"{value}{bomb}" if isinstance(value, str) and key not in KEPT else value


@pytest.mark.parametrize("bomb", BOMBS)
def test_nothing_in_a_run_folder_is_executed_by_its_report(tmp_path, rota_main, bomb):
    folder = tmp_path / "run"
    fields = {"tasks": ["digits"], "only": ["left", "right"], "steps": 8, "eval_every": 2, "method": "uniform"}
    run_plan(make_plan(fields), folder, progress=False)
    names = {"left", "right"}
    for file in (RUN, SUMMARY):
        (folder / file).write_text(json.dumps(armed(json.loads((folder / file).read_text()), bomb, names)))
    lines = [json.loads(line) for line in (folder / LOG).read_text().splitlines()]
    (folder / LOG).write_text("".join(json.dumps(armed(line, bomb, names)) + "\n" for line in lines))
    page = tmp_path / "page.html"
    code, _, err = rota_main("report", folder, "-o", page)
    assert code == 0, err
    document, _ = opened(page.as_uri(), tmp_path / "profile")
    assert "left" in document
    assert "<title>executed" not in document
