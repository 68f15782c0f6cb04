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


def test_as_printed_every_weight_of_the_entropy_is_tried_from_one_log_and_the_best_on_dev_is_used(tmp_path):
    plan = {"tasks": ["digits"], "method": "counterfactual@paper", "steps": STEPS, "options": {"entropies": [0.1, 2]}}
    run = run_plan(make_plan(plan), tmp_path / "p", progress=False)
    inner = {path.name: Run(path) for path in (tmp_path / "p" / "runs").iterdir()}
    assert inner.keys() == {"log", "round-1-entropy-0.1", "round-1-entropy-2"}
    dev = {}
    for entropy in (0.1, 2.0):
        tried = inner[f"round-1-entropy-{entropy:g}"]
        learned = best_mixture(inner["log"].folder, entropy, iterations=50, population=64)
        assert tried.info["mixture"] == pytest.approx(learned.mixture)
        dev[entropy] = tried.summary["best"]["dev"]["average"]
    best = inner[f"round-1-entropy-{max(dev, key=dev.get):g}"]
    assert run.info["mixture"] == best.info["mixture"]
    assert_same_run(run.folder, best.folder)
    assert run.summary["cost"]["runs"] == 4


def test_the_second_round_learns_from_the_log_of_the_best_run_of_the_first(tmp_path):
    options = {"entropies": [0.5, 2], "iterations": 5, "population": 8, "estimator": "dr"}
    plan = {"tasks": ["digits"], "method": "counterfactual@bandit", "steps": STEPS, "options": options}
    run = run_plan(make_plan(plan), tmp_path / "b", progress=False)
    folder = tmp_path / "b" / "runs"
    first = {entropy: Run(folder / f"round-1-entropy-{entropy:g}") for entropy in (0.5, 2.0)}
    best = max(first, key=lambda entropy: first[entropy].summary["best"]["dev"]["average"])
    how = {"iterations": 5, "population": 8, "estimator": "dr"}
    for entropy in (0.5, 2.0):
        second = Run(folder / f"round-2-entropy-{entropy:g}")
        learned = best_mixture(first[best].folder, entropy, **how)
        assert second.info["mixture"] == pytest.approx(learned.mixture)
    assert run.summary["cost"]["runs"] == 6


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
