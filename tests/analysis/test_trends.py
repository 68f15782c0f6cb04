"""How uncertainties go with the updates."""

from __future__ import annotations

import math

import pytest
from scipy.stats import kendalltau

from rota.analysis import RunHistory, uncertainty_tiles
from rota.analysis._convergence import kendall

VALUES = [3.0, 1.0, 2.0, 2.0, 0.5]


def test_trends_are_kendalls():
    assert kendall([1.0, 2.0, 4.0, 3.0]) == pytest.approx(kendalltau([0, 1, 2, 3], [1, 2, 4, 3]).statistic)
    assert kendall(VALUES) == pytest.approx(-0.5)  # 7 pairs fall, 2 rise, 1 is even
    assert math.isnan(kendall([1.0]))


def test_uncertainties_are_in_units_of_the_largest():
    history = RunHistory(("a", "b", "x"), uncertainty={"a": dict(enumerate(VALUES)), "b": {0: 1.0, 1: 2.0}})
    tiles = uncertainty_tiles([history], ["a", "b", "x"])
    assert tiles.values[0].tolist() == pytest.approx([value / 3.0 for value in VALUES])
