"""A method that trains several times: its inner runs, what they cost, and going on after a kill."""

from __future__ import annotations

import random

import pytest
from run_tools import assert_same_run, kill_at_random, rota

from rota.errors import RotaError
from rota.offpolicy import best_mixture
from rota.plans import make_plan
from rota.runlog import Run, find_runs
from rota.runs import run_plan

STEPS = 60


def counterfactual(folder, steps=STEPS, resume=False, **options):
    plan = {"tasks": ["digits"], "method": "counterfactual", "steps": steps, "options": options}
    return run_plan(make_plan(plan), folder, resume=resume, progress=False)


def test_it_trains_a_uniform_run_and_then_with_the_mixture_of_its_log(tmp_path):
    run = counterfactual(tmp_path / "c")
    log = Run(tmp_path / "c" / "runs" / "log")
    assert log.finished
    assert log.plan["method"] == "uniform"
    assert run.info["mixture"] == pytest.approx(best_mixture(log.folder, steps=STEPS).mixture)
    assert run.summary["cost"]["runs"] == 2
    assert run.summary["cost"]["updates"] == 2 * STEPS
    assert run.summary["seconds"] > log.summary["seconds"]
    assert [found.folder.name for found in find_runs([tmp_path])] == ["c"]
    # A finished run is not trained again, neither are its inner ones.
    before = (log.folder / "summary.json").stat().st_mtime_ns
    assert counterfactual(tmp_path / "c", resume=True).summary == run.summary
    assert (log.folder / "summary.json").stat().st_mtime_ns == before


def test_rounds_and_logs_of_others(tmp_path):
    two = counterfactual(tmp_path / "two", rounds=2, entropy=0.5)
    assert two.summary["cost"]["runs"] == 3
    inner = Run(tmp_path / "two" / "runs" / "round-1")
    assert inner.info["mixture"] == pytest.approx(best_mixture(tmp_path / "two" / "runs" / "log", 0.5).mixture)
    assert two.info["mixture"] == pytest.approx(best_mixture(inner.folder, 0.5).mixture)
    given = counterfactual(tmp_path / "given", logs=[str(inner.folder)], entropy=0.5)
    assert given.info["mixture"] == pytest.approx(two.info["mixture"])
    assert given.summary["cost"]["runs"] == 1
    assert not (tmp_path / "given" / "runs").exists()


def test_killed_in_an_inner_run_and_in_its_own_it_goes_on(tmp_path):
    flags = ("train", "--tasks", "digits", "--method", "counterfactual", "--steps", 300, "--checkpoint-every", 20, "-q")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert rota(*flags, "--out", whole).returncode == 0
    rng = random.Random(0)
    kill_at_random((*flags, "--out", killed), killed / "runs" / "log", rng)
    assert not (killed / "run.json").exists()
    refused = rota(*flags, "--out", killed)
    assert refused.returncode == 2
    assert "--resume" in refused.stderr
    kill_at_random(("train", "--resume", killed, "-q"), killed, rng)
    assert (killed / "run.json").exists()
    done = rota("train", "--resume", killed, "-q")
    assert done.returncode == 0, done.stderr
    assert_same_run(whole, killed)
    assert_same_run(whole / "runs" / "log", killed / "runs" / "log")
    assert Run(killed).summary["cost"] == Run(whole).summary["cost"]


def test_wrong_options_are_refused_before_anything_is_trained(tmp_path):
    for options in ({"rounds": 0}, {"entropy": -1.0}, {"entropy": "much"}, {"log": "x"}):
        with pytest.raises(RotaError, match="Options of method 'counterfactual'"):
            counterfactual(tmp_path / "c", **options)
    with pytest.raises(RotaError, match="Expected a run folder"):
        counterfactual(tmp_path / "c", logs=[str(tmp_path / "none")])
    assert not (tmp_path / "c").exists()
