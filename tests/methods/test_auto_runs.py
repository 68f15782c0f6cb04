"""`auto` and `auto-dev` from the front door: what they hear, and going on after a crash."""

from __future__ import annotations

import json

import pytest
from run_tools import assert_same_run

from rota.callbacks import Callback
from rota.plans import make_plan
from rota.policies import AutoDev
from rota.runlog import Run
from rota.runs import run_plan

PLAN = {"tasks": ["digits"], "steps": 120, "eval_every": 10, "checkpoint_every": 10, "eval_rows": 40}


class CrashError(Exception):
    pass


def trained(folder, method, resume=False, crash_at=None, **options):
    class Crashing(Callback):
        def on_evaluate(self, done, evaluation, mixture):
            if done == crash_at:
                raise CrashError

    plan = make_plan({**PLAN, "method": method, "options": {"every": 10, **options}})
    return run_plan(plan, folder, resume=resume, progress=False, callbacks=[Crashing()])


@pytest.mark.parametrize("method", ["auto", "auto-dev"])
def test_crashed_and_resumed_is_never_stopped(tmp_path, method):
    trained(tmp_path / "whole", method)
    with pytest.raises(CrashError):
        trained(tmp_path / "cut", method, crash_at=70)
    trained(tmp_path / "cut", method, resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


def test_dev_scores_reach_the_policy_at_every_evaluation(tmp_path, monkeypatch):
    heard = []
    learn = AutoDev.learn

    def listening(self, k, feedback):
        if feedback.probability is None:
            heard.append((feedback.step, feedback.task, feedback.value))
        learn(self, k, feedback)

    monkeypatch.setattr(AutoDev, "learn", listening)
    run = trained(tmp_path / "r", "auto-dev")
    logged = [(line["step"], task, own["score"]) for line in run.lines("eval") for task, own in line["tasks"].items()]
    assert sorted(heard) == sorted(logged)
    assert [source["says"] for source in run.info["listen"]] == ["loss", "score"]
    assert len({line["step"] for line in run.lines("eval")}) == 13


def test_scores_change_the_mixture(tmp_path):
    losses, scores = (
        trained(tmp_path / method, method).lines("eval")[-1]["mixture"] for method in ("auto", "auto-dev")
    )
    assert losses != scores


def test_auxiliary_tasks_keep_their_share_and_the_method_is_the_usual_one(tmp_path, rota_main):
    flags = ("--tasks", "digits", "--steps", 160, "-q")
    assert rota_main("train", *flags, "--out", tmp_path / "usual")[0] == 0
    assert rota_main("train", *flags, "--target", "left", "--out", tmp_path / "target")[0] == 0
    usual, target = Run(tmp_path / "usual"), Run(tmp_path / "target")
    assert (usual.plan["method"], target.plan["method"]) == ("auto", "uniform")
    first, last = (usual.lines("eval")[place]["mixture"] for place in (0, -1))
    for task in ("larger", "parity", "noise"):
        assert last[task] == pytest.approx(first[task])
    assert last["left"] != first["left"]


def test_options_reach_the_policy(tmp_path, rota_main):
    plan = tmp_path / "plan.yaml"
    plan.write_text(json.dumps({"tasks": ["digits"], "steps": 5, "method": "auto", "options": {"guard": "perhaps"}}))
    code, _, error = rota_main("train", plan, "--out", tmp_path / "r")
    assert code == 2
    assert "guard" in error
