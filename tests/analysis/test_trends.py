"""How uncertainties go with the updates."""

from __future__ import annotations

import math

import pytest
from scipy.stats import kendalltau

from rota.analysis._convergence import kendall

VALUES = [3.0, 1.0, 2.0, 2.0, 0.5]


def test_trends_are_kendalls():
    assert kendall([1.0, 2.0, 4.0, 3.0]) == pytest.approx(kendalltau([0, 1, 2, 3], [1, 2, 4, 3]).statistic)
    assert kendall(VALUES) == pytest.approx(-0.5)  # 7 pairs fall, 2 rise, 1 is even
    assert math.isnan(kendall([1.0]))
