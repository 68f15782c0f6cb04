"""`rota similarity`: tables over seeds, a page, and what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from glue_tools import write_cola
from test_errors import assert_refused
from test_texts import write_rte

from rota.inference import Trained
from rota.plans import make_plan, tasks_of
from rota.runs import run_plan
from rota.signals import first_inputs

WORDS = ["the cat sat on the mat", "a dog ran", "one red bird flew in under the tree", "he did what she did", "water"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tiny_bert):
    """Two seeds of a conditional encoder and one of a plain one, on two small tasks."""
    place = tmp_path_factory.mktemp("similarity")
    write_rte(place / "data")
    for split in ("train", "dev"):
        write_cola(place / "data", [(f"{text} {k}", k % 2) for k, text in enumerate(WORDS)], split)
    common = {"data": str(place / "data"), "tasks": ["rte", "cola"], "keep": "best", "lr": 0.01, "longest": 32}
    common |= {"steps": 4, "eval_every": 2, "batch_size": 4}
    for name, seed, model in (("a-0", 0, "camtl:"), ("a-1", 1, "camtl:"), ("plain", 0, "")):
        plan = make_plan({**common, "model": f"{model}{tiny_bert}", "seed": seed})
        run_plan(plan, place / "runs" / name, progress=False)
    return place


def by_hand(run, after):
    """For two tasks the mean over the others is their one similarity: from X_i X_jᵀ instead of covariances."""
    trained = Trained(run)
    X = {}
    for task in tasks_of(trained.plan):
        found = first_inputs(trained.model, task.name, task.splits["train"])
        X[task.name] = (found.after if after else found.before).double()
    A, B = (leading(own) for own in X.values())
    return float(torch.linalg.norm(A @ B.T) / torch.linalg.norm(A) / torch.linalg.norm(B))


def leading(X):
    """The same without the last directions, by the singular value decomposition of X itself."""
    _, s, Vt = torch.linalg.svd(X, full_matrices=False)
    kept = int(((s**2).cumsum(0) < (0.99 - 1e-12) * (s**2).sum()).sum()) + 1
    return torch.diag(s[:kept]) @ Vt[:kept]


def rows_of(out):
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if line.startswith("│")]


def test_seeds_are_averaged_and_plain_encoders_have_no_alignment(rota_main, folder):
    code, out, err = rota_main("similarity", folder / "runs")
    assert code == 0, err
    before = [by_hand(folder / "runs" / name, False) for name in ("a-0", "a-1")]
    after = [by_hand(folder / "runs" / name, True) for name in ("a-0", "a-1")]
    rte, cola, mean, *plain = rows_of(out)
    assert rte[:2] == ["rte", "12"]
    assert cola[:2] == ["cola", "5"]
    told = [[float(part) for part in cell.replace("−", "-").split(" ± ")] for cell in rte[2:]]
    change = np.subtract(after, before)
    for cell, values in zip(told, (before, after, change), strict=True):
        assert cell == pytest.approx([np.mean(values), np.std(values, ddof=1)], abs=6e-4)
    assert rte[2:] == cola[2:] == mean[2:]  # of two tasks
    assert float(plain[0][2]) == pytest.approx(by_hand(folder / "runs" / "plain", False), abs=6e-4)
    assert [len(row) for row in plain] == [3, 3, 3]
    assert "No alignment: the first layer reads the embeddings as they are." in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_page_and_json_say_the_same(rota_main, folder, tmp_path):
    code, out, err = rota_main("similarity", folder / "runs", "--json", "--rows", 4, "-o", tmp_path / "page.html")
    assert code == 0, err
    found = json.loads(out)
    one = found[str(folder / "runs" / "a-0")]
    assert one["rows"] == {"rte": 4, "cola": 4}
    assert one["before"]["rte"]["cola"] == pytest.approx(one["before"]["cola"]["rte"])
    assert 0 < one["after"]["rte"]["cola"] <= 1
    assert found[str(folder / "runs" / "plain")]["after"] is None
    page = (tmp_path / "page.html").read_text()
    values = [found[str(folder / "runs" / name)]["after"]["rte"]["cola"] for name in ("a-0", "a-1")]
    assert f"{math.fsum(values) / 2:.3f}" in page
    assert "no conditional alignment" in page


def test_wrong_input(rota_main, folder, tmp_path):
    run = folder / "runs" / "a-0"
    assert_refused(rota_main("similarity", tmp_path), "Expected at least one run folder")
    assert_refused(rota_main("similarity", tmp_path / "no"), "Found nothing there")
    assert_refused(rota_main("similarity", run, "--tasks", "rte"), "two tasks or more that all runs have. Found rte")
    assert_refused(rota_main("similarity", run, "--tasks", "mrpc"), "tasks that all runs have: rte, cola. Found mrpc")
    assert_refused(rota_main("similarity", run, "--split", "test"), "rows in split 'test'", "Found none of 'rte'")
    flags = ["--tasks", "left,right", "--rows", "left=40,right=40", "--steps", 2, "--eval-every", 2, "-q"]
    assert rota_main("train", *flags, "--out", tmp_path / "digits")[0] == 0
    assert_refused(rota_main("similarity", tmp_path / "digits"), "Expected a transformer", "Found SmallConv")
