"""`--target`: one task counts; the methods that are made for it."""

from __future__ import annotations

import pytest

from rota.inference import Trained
from rota.runlog import Run

TINY = ["--steps", 8, "--eval-every", 4, "--rows", "left=40,right=40,noise=40", "--tasks", "left,right,noise", "-q"]


def test_any_method_has_a_target(rota_main, tmp_path):
    assert rota_main("train", *TINY, "--target", "right", "--out", tmp_path / "r")[0] == 0
    run = Run(tmp_path / "r")
    assert {name: task["auxiliary"] for name, task in run.info["tasks"].items()} == {
        "left": True,
        "right": False,
        "noise": True,
    }
    best = run.summary["best"]["dev"]
    assert best["average"] == best["tasks"]["right"]["score"]


def test_singletask_leaves_the_others_out(rota_main, tmp_path):
    flags = ["--method", "singletask", "--target", "right"]
    assert rota_main("train", *TINY[:-1], *flags, "--out", tmp_path / "r", "--rows", "right=40")[0] == 0
    assert Run(tmp_path / "r").summary["updates"] == {"right": 8}
    code, said, _ = rota_main("evaluate", tmp_path / "r")
    assert code == 0
    assert "right" in said
    assert "noise" not in said


def test_the_model_of_a_task_is_its_own_best_one(rota_main, tmp_path):
    flags = ["--method", "multitask", "--eval-every", 1, "--out", tmp_path / "r"]
    assert rota_main("train", *TINY, *flags)[0] == 0
    each = Run(tmp_path / "r").summary["best"]["each"]
    assert len({own["step"] for own in each.values()}) > 1
    for task, own in each.items():
        found = Trained(tmp_path / "r", task).evaluate(tasks=[task])["tasks"][task]
        assert found["score"] == own["dev"]["score"]


def test_multitask_keeps_the_best_model_of_each_task_unless_told_otherwise(rota_main, tmp_path):
    rules = {(): "each", ("--target", "left"): "score", ("--best", "loss"): "loss"}
    for number, (flags, rule) in enumerate(rules.items()):
        folder = tmp_path / str(number)
        assert rota_main("train", *TINY, "--method", "multitask", *flags, "--out", folder)[0] == 0
        assert Run(folder).summary["best"]["rule"] == rule


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--target", "lefd"], "target 'lefd'"),
        (["--method", "alphavil"], "'alphavil' expects a target. Choose one of left, right, noise"),
        (["--method", "thompson"], "'thompson' expects a target"),
        (["--method", "singletask"], "expects a target. Choose one of left, right, noise"),
        (["--method", "alphavil", "--target", "left", "--tasks", "left"], "expects other tasks beside the target"),
        (["--method", "diw", "--target", "left", "--steps", "3"], "Expected enough steps for a round"),
        (["--method", "alphavil", "--target", "left", "--option", "memory=elephant"], "memory"),
        (["--method", "alphavil", "--target", "left", "--option", "only=[bert.*]"], "which no trainable parameter has"),
    ],
)
def test_wrong_input_gets_a_sentence(rota_main, tmp_path, flags, said):
    rows = ["--rows", "left=40"]
    code, _, err = rota_main("train", *TINY, *rows, *flags, "--out", tmp_path / "r")
    assert code == 2
    assert said in err
    assert "Traceback" not in err


def test_a_run_in_rounds_goes_on_where_it_stopped(rota_main, tmp_path):
    flags = ["--method", "alphavil", "--target", "left", "--optimizer", "sgd", "--lr", 0.1]
    assert rota_main("train", *TINY, *flags, "--out", tmp_path / "r")[0] == 0
    assert rota_main("train", "--resume", tmp_path / "r", "-q")[0] == 0
    assert Run(tmp_path / "r").finished


def test_adam_is_warned_about(rota_main, tmp_path):
    flags = ["--method", "alphavil", "--target", "left"]
    code, _, err = rota_main("train", *TINY[:-1], *flags, "--out", tmp_path / "r")
    assert code == 0
    assert "inert" in err
    flags += ["--option", "scaling=delta"]
    assert "inert" not in rota_main("train", *TINY[:-1], *flags, "--out", tmp_path / "s")[2]
