"""Which task helps which: numbers by hand, verdicts that hold together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rota.analysis import Pairing, Ratio, holm, transfer_table

ALONE = {"a": {0: 0.50, 1: 0.60, 2: 0.70}, "b": {0: 0.80, 1: 0.80, 2: 0.80}}


def test_gains_are_paired_by_seed_and_mutual_ones_are_means_of_both_directions():
    table = transfer_table(
        ALONE,
        {Pairing("a", "b"): {0: 0.53, 1: 0.62, 2: 0.74}, Pairing("b", "a"): {0: 0.79, 1: 0.80, 2: 0.78}},
    )
    helped, harmed = table.effects
    assert helped.gain.mean == pytest.approx(0.03)
    assert helped.gain.error == pytest.approx(0.01 / np.sqrt(3))
    assert helped.gain.low == pytest.approx(0.03 - stats.t.ppf(0.975, 2) * 0.01 / np.sqrt(3))
    assert helped.of_the_rest.mean == pytest.approx(0.03 / 0.4)  # "a" alone lacks 40 points
    assert harmed.of_the_rest.high == pytest.approx(harmed.gain.high / 0.2)
    (both,) = table.mutual
    assert both.gain.mean == pytest.approx(0.01)
    assert both.gain.error == pytest.approx(np.std([0.01, 0.01, 0.01], ddof=1), abs=1e-12)  # in each seed the same
    assert table.mutual_effect("b", "a") is both


def test_verdicts_are_corrected_for_the_number_of_effects():
    rng = np.random.default_rng(0)
    names = [f"t{k}" for k in range(5)]
    alone = {name: dict(enumerate(rng.normal(0.6, 0.02, 8))) for name in names}
    gains = {Pairing(a, b): 0.02 * (b == "t0") for a in names for b in names if a != b}
    beside = {
        own: {seed: value + gain + rng.normal(0, 0.012) for seed, value in alone[own.target].items()}
        for own, gain in gains.items()
    }
    table = transfer_table(alone, beside)
    p = [
        stats.ttest_1samp([beside[e.pairing][s] - alone[e.pairing.target][s] for s in range(8)], 0).pvalue
        for e in table.effects
    ]
    for effect, corrected in zip(table.effects, holm(np.array(p)), strict=True):
        assert (effect.verdict != "cannot tell") == (corrected < 0.05)
    assert sum(value < 0.05 for value in p) > sum(effect.verdict != "cannot tell" for effect in table.effects) > 0


def test_two_seeds_and_missing_runs_tell_nothing():
    table = transfer_table(
        {"a": {0: 0.5, 1: 0.5}, "b": {0: 1.0, 1: 1.0}},
        {
            Pairing("a", "b"): {0: 0.9, 1: 0.9},
            Pairing("b", "a", Ratio(4, 1)): {0: 0.5, 1: 0.4},
            Pairing("a", "c"): {7: 0.5},
        },
    )
    assert {effect.verdict for effect in table.effects} == {"cannot tell"}
    assert table.ratios == [Ratio(4, 1), Ratio()]
    assert table.helpers == ["a", "b", "c"]
    assert np.isnan(table.effect("b", "a", Ratio(4, 1)).of_the_rest.mean)  # nothing is lacking
    assert table.effect("a", "c").gain.n == 0
    assert table.mutual == ()
    assert table.effect("b", "a") is None
