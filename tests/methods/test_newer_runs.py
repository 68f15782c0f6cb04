"""Newer methods from the front door: they hear what they learn from, and resume exactly."""

from __future__ import annotations

import json

import pytest
from run_tools import assert_same_run

from rota.callbacks import Callback
from rota.plans import make_plan
from rota.runs import run_plan

PLAN = {"tasks": ["digits"], "steps": 36, "eval_every": 12, "checkpoint_every": 6, "eval_rows": 20, "threads": 1}
OPTIONS = {
    "ado": {"warmup": 12, "every": 6},
    "dga": {"every": 5, "rows": 4},
    "dump": {},
    "dwa": {"every": 4},
    "dynamix": {},
    "exp3s-visits": {"anchor": 0.3, "prior": "sqrt", "eta": 0.1},
    "famo": {},
    "odm": {"rule": "sum"},
    "pike": {"every": 5, "rows": 4},
    "rlw": {},
    "sec": {"tau": 0.1},
    "uw": {},
    "uw-so": {},
}


class CrashError(Exception):
    pass


def trained(folder, method, resume=False, crash=False):
    class Crashing(Callback):
        def on_evaluate(self, done, evaluation, mixture):
            if crash and done == 24:
                raise CrashError

    target = {"target": "left"} if method == "dga" else {}
    plan = make_plan({**PLAN, **target, "method": method, "options": OPTIONS[method]})
    return run_plan(plan, folder, resume=resume, progress=False, callbacks=[Crashing()])


@pytest.mark.parametrize("method", OPTIONS)
def test_crashed_and_resumed_is_never_stopped(tmp_path, method):
    run = trained(tmp_path / "whole", method)
    with pytest.raises(CrashError):
        trained(tmp_path / "cut", method, crash=True)
    trained(tmp_path / "cut", method, resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")
    mixtures = {json.dumps(line["mixture"]) for line in run.lines("eval")}
    assert len(mixtures) > 1, "what it heard changed nothing"


@pytest.mark.parametrize("method", ["dwa", "famo", "rlw", "uw", "uw-so"])
def test_the_weights_of_a_joint_step_are_the_shares_of_the_policy(tmp_path, method):
    run = trained(tmp_path / "run", method)
    for line in run.lines("step"):
        weights = [own["weight"] for own in line["tasks"].values()]
        assert len(weights) == 5
        assert sum(weights) == pytest.approx(1.0)
    assert weights != pytest.approx([0.2] * 5, abs=1e-6)


def test_measured_gradients_are_in_the_log_and_in_the_bill(tmp_path):
    run = trained(tmp_path / "run", "pike")
    lines = list(run.lines("gradient"))
    assert [line["step"] for line in lines] == [5, 10, 15, 20, 25, 30, 35]
    assert set(lines[0]["tasks"]["left"]) == {"value", "variance"}
    assert run.summary["cost"]["scored"] == 7 * 5 * 3 * 8  # times, tasks, a backward pass, rows of both batches
