"""A notebook shows runs and comparisons inline, without torch; training in it prints plain lines."""

from __future__ import annotations

import sys
from functools import partial

import pytest
from log_tools import write_run
from page_tools import cells

from rota import notebooks
from rota.analysis import all_scores, group_runs
from rota.errors import RotaError


@pytest.fixture
def make_run(tmp_path):
    return partial(write_run, tmp_path)


def test_a_run_shows_its_tasks_with_small_curves(make_run):
    run = make_run("a", "auto", average=0.5)
    html = run._repr_html_()
    assert "Its average test score is 50.0." in html
    assert cells(html)[1][:2] == ["left", "50.0"]
    assert html.count("<polyline") == 3 * 3 - 1  # scores, losses and shares; nobody gave noise a share
    assert "<script" not in html
    assert len(html) < 20_000
    assert repr(run) == f"Run({str(run.folder)!r})"
    assert "It has no score yet." in make_run("b")._repr_html_()


def test_a_comparison_shows_dots_and_a_table(make_run):
    runs = [make_run(f"{name}{seed}", name, seed, 0.5 + seed / 10) for name in ("uniform", "auto") for seed in range(3)]
    html = all_scores(group_runs(runs))._repr_html_()
    assert html.count('class="panel dots"') == 2
    assert [row[0] for row in cells(html)] == ["method", "uniform", "auto"]


def test_where_nothing_can_be_drawn_the_notebook_prints(make_run, monkeypatch):
    run = make_run("a", average=0.5)

    def refuse(name):
        raise RotaError("The report needs the package jinja2.")

    monkeypatch.setattr(notebooks, "import_module", refuse)
    assert run._repr_html_() is None


KERNEL = """
import sys
from rota.runlog import Run
run = Run({folder!r})
run
---
assert "torch" not in sys.modules and "plotly" not in sys.modules
---
from pathlib import Path
from rota.plans import make_plan
from rota.runs import run_plan
import rota.training  # tqdm, which others bring, warns here that it has no widgets
---
plan = make_plan({{"tasks": ["digits"], "steps": 20, "eval_every": 10, "threads": 1}})
_ = run_plan(plan, Path({out!r}), progress=True)
"""


def test_a_kernel_shows_a_run_and_the_lines_of_a_training(make_run, tmp_path):
    pytest.importorskip("ipykernel", reason="expects ipykernel and nbclient; found no ipykernel")
    nbclient = pytest.importorskip("nbclient", reason="expects ipykernel and nbclient; found no nbclient")
    import nbformat

    folder, out = str(make_run("a", "auto", average=0.5).folder), str(tmp_path / "trained")
    parts = KERNEL.format(folder=folder, out=out).split("---")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(part.strip()) for part in parts])
    client = nbclient.NotebookClient(book, kernel_name="python3", resources={"metadata": {"path": tmp_path}})
    client.create_kernel_manager()
    client.km.kernel_spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    client.execute()
    shown, _, _, trained = (cell["outputs"] for cell in book.cells)
    assert "Its average test score is 50.0." in shown[0]["data"]["text/html"]
    assert {output["output_type"] for output in trained} == {"stream"}  # no block of HTML for each line
    assert {output["name"] for output in trained} == {"stdout"}
    lines = "".join(output["text"] for output in trained).splitlines()
    assert any("step 20/20" in line and "average" in line for line in lines)
    assert not any("\x1b" in line or "\r" in line for line in lines)
