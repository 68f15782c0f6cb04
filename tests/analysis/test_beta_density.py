"""What a bandit believes, as a density."""

from __future__ import annotations

import numpy as np
import pytest

from rota.analysis import beta_density


@pytest.mark.parametrize(("successes", "failures"), [(1.0, 1.0), (2.0, 1.0), (3.0, 2.0), (1.5, 4.0), (60.0, 30.0)])
def test_a_density_integrates_to_one_and_has_its_mean(successes, failures):
    at, dense = beta_density(successes, failures)
    assert dense.mean() == pytest.approx(1.0, abs=1e-3)
    assert (at * dense).mean() == pytest.approx(successes / (successes + failures), abs=1e-3)


@pytest.mark.parametrize(("successes", "failures", "peak"), [(3.0, 2.0, 2 / 3), (60.0, 30.0, 59 / 88), (3.0, 1.0, 1.0)])
def test_a_density_peaks_at_its_mode(successes, failures, peak):
    at, dense = beta_density(successes, failures)
    assert at[np.argmax(dense)] == pytest.approx(peak, abs=0.5 / len(at) + 1e-9)


def test_a_density_is_finite_where_its_ends_are_not():
    _, dense = beta_density(0.5, 0.5)
    assert np.isfinite(dense).all()
