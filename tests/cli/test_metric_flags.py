"""Metrics of a task and the rule for the best checkpoint, from flags and files."""

from __future__ import annotations

import json

import pytest
import yaml

from rota.plans import make_plan, tasks_of
from rota.runlog import Run

TINY = ("--tasks", "digits", "--steps", 6, "--eval-every", 3, "--eval-rows", 20, "--method", "uniform", "-q")
ASKED = ("--per-task", "left.metrics=auc,accuracy,log_loss,right.batch_size=8", "--best", "metric:auc")


def test_flags_and_files_say_the_same(rota_main, tmp_path):
    code, _, err = rota_main("train", *TINY, *ASKED, "--out", tmp_path / "flags")
    assert code == 0, err
    file = tmp_path / "plan.yaml"
    more = {"left": {"metrics": ["auc", "accuracy", "log_loss"]}, "right": {"batch_size": 8}}
    file.write_text(yaml.safe_dump({"per_task": more, "best": "metric:auc"}))
    code, _, err = rota_main("train", file, *TINY, "--out", tmp_path / "file")
    assert code == 0, err
    logs = [(tmp_path / name / "log.jsonl").read_bytes() for name in ("flags", "file")]
    assert logs[0] == logs[1]
    best = Run(tmp_path / "flags").summary["best"]
    assert (best["rule"], list(best["test"]["tasks"]["left"]["metrics"])) == (
        "metric:auc",
        ["auc", "accuracy", "log_loss"],
    )
    assert best["dev"]["tasks"]["right"]["metrics"].keys() == {"accuracy"}
    code, out, err = rota_main("evaluate", tmp_path / "flags", "--json")
    assert code == 0, err
    assert json.loads(out)["tasks"]["left"]["metrics"].keys() == {"auc", "accuracy", "log_loss"}
    code, out, err = rota_main("evaluate", tmp_path / "flags")
    told = json.loads(rota_main("evaluate", tmp_path / "flags", "--json")[1])["tasks"]["left"]["metrics"]
    assert f"log_loss {told['log_loss']:.3f}" in out  # in nats, not in percent
    assert f"auc {100 * told['auc']:.1f}" in out


def test_a_file_may_name_metrics_in_one_line():
    plan = make_plan({"tasks": ["digits"], "per_task": {"left": {"metrics": "auc, f1"}}})
    assert {task.name: task.kind.metric_names for task in tasks_of(plan)}["left"] == ("auc", "f1")


def test_a_single_metric_needs_no_brackets(rota_main, tmp_path):
    code, _, err = rota_main("train", *TINY, "--per-task", "left.metrics=macro_f1", "--out", tmp_path / "r")
    assert code == 0, err
    assert Run(tmp_path / "r").summary["best"]["dev"]["tasks"]["left"]["metrics"].keys() == {"macro_f1"}


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--per-task", "left.metrics=acuracy,f1"), "Did you mean 'accuracy'?"),
        (("--per-task", "left.metrics=ece"), "expects a metric that is higher for better models"),
        (("--per-task", "left.metrics="), "at least 1 item"),
        (("--per-task", "left.metrics=auc,left=3"), "expects task.field=value"),
        (("--per-task", "auc,left.metrics=auc"), "expects name=value pairs"),
        (("--best", "metric:acuracy"), "Did you mean 'accuracy'?"),
        (("--best", "metric:auc"), "such as per_task left.metrics=auc,accuracy"),
        (("--best", "metric:"), "score, loss, last, each or metric:NAME"),
        (("--best", "los"), "did you mean 'loss'?"),
        (("--best", "auc"), "score, loss, last, each or metric:NAME"),
        (("--tasks", "toytext", "--per-task", "howmany.metrics=auc"), "needs probabilities of classes"),
    ],
)
def test_wrong_metrics_and_rules_are_refused_with_a_sentence(rota_main, tmp_path, flags, sentence):
    code, _, err = rota_main("train", *TINY, *flags, "--out", tmp_path / "r")
    assert (code, sentence in " ".join(err.split())) == (2, True), err
