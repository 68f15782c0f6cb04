"""Which part of plotly.js a page carries: enough for its figures, and no more."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
from log_tools import write_run
from plotly.offline import get_plotlyjs, get_plotlyjs_version

import rota.report
from rota.report import Section, figure_html, report_text
from rota.report._script import CARTESIAN, bundle


@pytest.fixture
def make_run(tmp_path):
    return partial(write_run, tmp_path)


def test_the_bundle_is_of_the_version_that_the_tests_have():
    assert f"plotly.js (cartesian - minified) v{get_plotlyjs_version()}" in bundle()[:500]


def drawing(kind):
    import plotly.graph_objects as go

    def draw(page):
        return figure_html(go.Figure({"type": kind}, layout={"height": 200}), "own")

    return Section("Own", draw)


@pytest.mark.parametrize(("kind", "enough"), [("heatmap", True), ("bar", True), ("scatter3d", False)])
def test_a_figure_that_the_bundle_cannot_draw_brings_the_whole_script(make_run, kind, enough):
    page = report_text([make_run("a", average=0.5)], extra_sections=[drawing(kind)])
    assert (bundle() in page) == enough
    assert (get_plotlyjs() in page) != enough


def test_another_major_version_of_plotly_draws_with_its_own_script(make_run, monkeypatch):
    run = make_run("a", average=0.5)
    monkeypatch.setattr("plotly.offline.get_plotlyjs_version", lambda: "99.0.0")
    assert get_plotlyjs() in report_text([run])
    monkeypatch.setattr("plotly.offline.get_plotlyjs_version", lambda: f"{bundle_major()}.99.9")
    assert bundle() in report_text([run])


def bundle_major():
    return re.search(r"v(\d+)", bundle())[1]


def test_every_kind_of_trace_in_the_code_is_one_that_the_bundle_draws():
    made = {
        kind.lower()
        for path in Path(rota.report.__file__).parent.glob("*.py")
        for kind in re.findall(r"(?:go|plotly_objects\(\))\.([A-Z]\w+)\(", path.read_text(encoding="utf-8"))
    }
    assert "scatter" in made
    assert made - {"figure"} <= CARTESIAN
