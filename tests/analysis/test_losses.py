"""Aggregate dev losses: averaged over tasks, and over all dev rows."""

from __future__ import annotations

import math

import pytest

from rota.analysis import MEASURES, Claim, judge, read_history
from rota.analysis._measures import measured
from rota.analysis._verdicts import HOLDS
from rota.testing import written_run

# Step, then losses of 900 rows of sst2, 100 of rte, 50 of an auxiliary task.
COURSE = {10: (0.30, 0.50, 0.1), 20: (0.20, 0.60, 0.1), 30: (0.23, 0.40, 0.1)}


def evaluations(course=COURSE, **changes):
    for step, losses in course.items():
        tasks = {
            name: {"loss": loss, "score": 0.5, "metrics": {}, "n": n, **changes.get(name, {})}
            for name, loss, n in zip(("sst2", "rte", "aux"), losses, (900, 100, 50), strict=True)
        }
        yield {"kind": "eval", "step": step, "split": "dev", "average": 0.5, "loss": 0.0, "tasks": tasks, "mixture": {}}


def written(seed=0, folder=None, lines=None):
    scores = {"sst2": [], "rte": [], "aux": []}
    own = [*(evaluations() if lines is None else lines)]
    return written_run(scores, seed=seed, auxiliary=["aux"], lines=own, folder=folder, finished=False)


def test_the_score_of_a_group_is_the_mean_over_its_tasks():
    run = written_run({"cb": [0.5], "copa": [0.7], "rte": [0.9]})
    assert measured(run, "scores:cb+copa", "dev") == pytest.approx(0.6)
    assert measured(run, "scores:rte", "dev") == pytest.approx(0.9)
    assert measured(run, "scores:cb+wic", "dev") is None


def test_both_aggregates_by_hand():
    run = written()
    # By rows 0.9 · 0.30 + 0.1 · 0.50 = 0.32, then 0.24, 0.247; by tasks 0.40, 0.40, 0.315.
    # The auxiliary one does not count.
    assert read_history(run).pooled_loss == pytest.approx({10: 0.32, 20: 0.24, 30: 0.247})
    assert measured(run, "pooled-loss", "dev") == pytest.approx(0.24)
    assert measured(run, "mean-loss", "dev") == pytest.approx(0.315)
    assert measured(run, "loss:rte", "dev") == pytest.approx(0.40)
    # At step 20, where the pooled loss is lowest.
    assert measured(run, "excess:sst2", "dev") == 0.0
    assert measured(run, "excess:rte", "dev") == pytest.approx(0.20)


def test_an_evaluation_without_a_loss_or_a_number_of_rows_has_no_pooled_loss():
    assert read_history(written(lines=evaluations(rte={"loss": None}))).pooled_loss == {}
    found = read_history(written(lines=evaluations(sst2={"n": 0}, rte={"n": 0}))).pooled_loss
    assert found == {}
    run = written(lines=[])
    for name in ("pooled-loss", "mean-loss", "loss:rte", "excess:rte"):
        assert measured(run, name, "dev") is None


def test_a_claim_about_a_loss_is_in_nats_with_four_digits(tmp_path):
    claim = Claim(says="it learns", measure="pooled-loss", of="new", than="old", is_="lower")
    variants = {"new": [f"new-{seed}" for seed in range(3)], "old": [f"old-{seed}" for seed in range(3)]}
    for name, less in (("new", 0.01), ("old", 0.0)):
        for seed in range(3):
            shift = 0.001 * seed - less * (1 + 0.1 * seed)
            course = {step: tuple(loss + shift for loss in losses) for step, losses in COURSE.items()}
            folder = tmp_path / f"{name}-{seed}"
            run = written(seed, folder, evaluations(course))
            (run.folder / "summary.json").write_text("{}")
    [verdict] = judge([claim], tmp_path, variants)
    assert verdict.verdict == HOLDS
    assert verdict.difference.mean == pytest.approx(-0.011)
    assert verdict.ours.startswith("−0.0110 [")
    assert MEASURES["pooled-loss"].unit == "nats"
    assert math.isfinite(verdict.difference.low)
