"""Scores over seeds, and what a lead is worth."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from log_tools import write_run

from rota.analysis import group_runs, headline, paired, scores
from rota.runlog import Ledger


@pytest.fixture
def make_run(tmp_path):
    return partial(write_run, tmp_path)


def test_score_is_mean_and_sample_deviation_over_seeds(make_run):
    group, *_ = group_runs([make_run("a", average=0.5), make_run("b", seed=1, average=0.8), make_run("c", seed=2)])
    test, dev = scores(group, "test"), scores(group, "dev")
    assert (test.mean, test.n) == (pytest.approx(0.65), 2)
    assert test.std == pytest.approx(0.3 / np.sqrt(2))
    assert dev.mean == pytest.approx(0.60)
    assert scores(group, "test", "noise").mean == pytest.approx(0.1)


def test_paired_difference_uses_shared_seeds_and_its_standard_error():
    difference = paired({0: 0.6, 1: 0.8, 2: 0.7, 9: 0.0}, {0: 0.5, 1: 0.5, 2: 0.5})
    assert difference.mean == pytest.approx(0.2)
    assert difference.error == pytest.approx(0.1 / np.sqrt(3))
    assert difference.n == 3
    assert not difference.tells  # three seeds that spread so far: the interval has zero in it
    assert not paired({0: 0.6, 1: 0.8}, {0: 0.5, 1: 0.5}).tells  # two seeds
    assert not paired({0: 0.6, 1: 0.4, 2: 0.5}, {0: 0.5, 1: 0.5, 2: 0.5}).tells  # mean zero


@pytest.mark.parametrize(
    ("base", "other", "evidence"),
    [
        ({0: 0.5}, {1: 0.6}, "no shared seed"),
        ({0: 0.5, 1: 0.5}, {0: 0.6, 1: 0.7}, "too few seeds"),
        ({0: 0.5, 1: 0.5, 2: 0.5}, {0: 0.3, 1: 0.5, 2: 0.8}, "unclear"),
        ({0: 0.3, 1: 0.5, 2: 0.7}, {0: 0.31, 1: 0.511, 2: 0.712}, "weak"),  # narrower than the seeds spread: paired
        ({0: 0.5, 1: 0.5, 2: 0.5}, {0: 0.6, 1: 0.61, 2: 0.62}, "weak"),
        (dict.fromkeys(range(10), 0.5), {seed: 0.6 + seed / 1000 for seed in range(10)}, "clear"),
    ],
)
def test_a_lead_is_worth_what_its_seeds_say(make_run, base, other, evidence):
    runs = [make_run(f"u{seed}", "uniform", seed, average) for seed, average in base.items()]
    runs += [make_run(f"o{seed}", "other", seed, average) for seed, average in other.items()]
    found = headline(group_runs(runs))
    assert found.ranking.best.name == "other"
    assert found.evidence == evidence
    assert found.picked_from is None


def test_where_nothing_is_ahead_there_is_nothing_to_judge(make_run):
    found = headline(group_runs([make_run("a")]))
    assert (found.ranking.best, found.difference, found.evidence, found.top.n) == (None, None, None, 0)


def test_a_highest_of_many_and_unequal_costs_are_remembered(make_run):
    runs = [
        make_run(f"m{k}", f"method-{k}", average=0.5 + k / 100, cost=Ledger(updates=4, train=8 + 4 * k))
        for k in range(4)
    ]
    found = headline(group_runs(runs))
    assert found.picked_from == 4
    assert found.dearest == pytest.approx(20 / 8)
    assert headline(group_runs(runs[:1])).dearest is None
