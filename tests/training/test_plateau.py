"""Training to a plateau: the rate falls where evaluations do not improve, and the run ends where they still do not;
at the same step whether or not it was stopped on the way."""

from __future__ import annotations

import itertools

import pytest
from run_tools import assert_same_run, interrupted_at

from rota.engine import Learner
from rota.errors import RotaError
from rota.plans import make_plan
from rota.runs import run_plan
from rota.settings import Settings
from rota.training._best import BestTracker

PLAN = {
    **{"tasks": ["digits"], "only": ["left", "noise"], "rows": {"left": 100, "noise": 60}, "target": "left"},
    **{"batch_size": 16, "device": "cpu", "optimizer": "sgd", "lr": 0.1, "warmup": 0.0, "eval_rows": 30, "threads": 1},
    **{"schedule": "plateau", "patience": 5, "engine": "eager"},
}
METHODS = {"singletask": {}, "multitask": {"fraction": 0.5}, "diw": {"fraction": 0.5, "tries": 2}, "alphavil": {}}


def trained(folder, method, **fields):
    plan = make_plan({**PLAN, "method": method, "options": METHODS.get(method, {}), **fields})
    return run_plan(plan, folder, resume=folder.is_dir(), progress=False)


def evaluation(score):
    return {"average": score, "loss": 1.0, "tasks": {}}


def test_the_rate_falls_after_every_so_many_evaluations_in_vain():
    best, falls = BestTracker("score", patience=5, decay_after=2), []
    for step, score in enumerate([0.1, 0.2, 0.2, 0.1, 0.3, 0.2, 0.3, 0.1, 0.1, 0.2, 0.9]):
        best.hear(step, evaluation(score), evaluation(score), True)
        falls.append(best.falls)
        if best.stops:
            break
    # In vain: 3rd, 4th (fall); a new best; 6th, 7th (fall), 8th, 9th (fall), 10th is the fifth in a row: the end.
    assert falls == [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]
    assert best.stops == "patience"


@pytest.mark.parametrize("method", ["singletask", "multitask", "uniform", "diw", "alphavil"])
def test_every_method_trains_to_a_plateau_at_falling_rates(tmp_path, method):
    rates, real = {}, Learner.rate_at

    def rate_at(self, plan):
        rates[plan.step] = real(self, plan)
        return rates[plan.step]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Learner, "rate_at", rate_at)
        run = trained(tmp_path / "r", method, budget="kept-rounds:400", eval_every=1)
    assert run.summary["stopped"] == "patience"
    falls = {line["step"]: line["factor"] for line in run.lines("rate")}
    assert list(falls.values()) == [0.5 ** (k + 1) for k in range(len(falls))]
    assert len(falls) >= 2  # at the second and the fourth of five evaluations in vain
    borders = [0, *falls, run.summary["steps"]]
    for k, (start, end) in enumerate(itertools.pairwise(borders)):
        assert {rates[step] for step in range(start, end)} == ({0.1 * 0.5**k} if end > start else set())
    scores = [line["average"] for line in run.lines("eval")][1:]  # the model before training is no candidate
    assert scores.index(max(scores)) == len(scores) - 1 - 5


@pytest.mark.parametrize("method", ["multitask", "diw", "alphavil"])
def test_killed_and_resumed_it_stops_at_the_same_step_with_the_same_rate(tmp_path, method):
    fields = {"budget": "kept-rounds:400", "eval_every": 1, "checkpoint_every": 7}
    whole = trained(tmp_path / "whole", method, **fields)
    last = whole.summary["steps"] - 1
    assert whole.lines("rate")
    for step in (last // 2, last - 4, last):  # the last two behind a fall of the rate
        with interrupted_at(step):
            trained(tmp_path / "cut", method, **fields)
    cut = trained(tmp_path / "cut", method, **fields)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")
    assert (cut.summary["steps"], cut.summary["stopped"]) == (whole.summary["steps"], "patience")
    assert cut.summary["exposure"] == whole.summary["exposure"]


def test_a_patience_that_ends_before_the_rate_falls_is_refused():
    with pytest.raises(RotaError, match="expected patience above decay_after, 3"):
        Settings(schedule="plateau", decay_after=3, patience=3)
