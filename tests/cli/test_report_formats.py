"""`rota report --format` writes and prints the tables of the page."""

from __future__ import annotations

import csv
import io
import json

import pytest

from rota.plans import make_plan
from rota.runs import run_plan


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("runs")
    fields = {"tasks": ["left", "right"], "steps": 4, "eval_every": 2, "rows": {"left": 40, "right": 40}}
    for method in ("uniform", "union"):
        for seed in range(2):
            plan = make_plan({**fields, "method": method, "seed": seed})
            run_plan(plan, place / f"{method}-{seed}", progress=False)
    return place


@pytest.mark.parametrize("form", ["html", "md", "csv", "json"])
def test_each_format_has_its_file(rota_main, folder, form):
    code, out, err = rota_main("report", folder, "--format", form)
    assert code == 0, err
    assert f"4 runs in {folder / f'report.{form}'}" in out
    assert "uniform" in (folder / f"report.{form}").read_text(encoding="utf-8")


def test_text_can_be_printed(rota_main, folder):
    code, out, _ = rota_main("report", folder, "--format", "csv", "-o", "-")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {(row["method"], row["seed"]) for row in rows} == {(m, s) for m in ("uniform", "union") for s in "01"}
    assert {row["task"] for row in rows} == {"left", "right", "average"}
    code, out, _ = rota_main("report", folder, "--format", "json", "--baseline", "union", "-o", "-")
    assert code == 0
    assert json.loads(out)["baseline"] == "union"


def test_a_page_is_not_printed_and_unknown_names_are_refused(rota_main, folder):
    code, _, err = rota_main("report", folder, "-o", "-")
    assert code == 2
    assert "-o - expects --format md, csv or json" in err
    code, _, err = rota_main("report", folder, "--baseline", "uniforme")
    assert code == 2
    assert "Did you mean 'uniform'?" in " ".join(err.split())
    assert rota_main("report", folder, "--format", "pdf")[0] == 2
