"""Steps at the borders of passes: memory; slopes inside of them: learning."""

from __future__ import annotations

import numpy as np
import pytest

from rota.curves import PassBoundaries

LENGTH = 40


def measured(losses, noise=0.05, length=LENGTH):
    borders = PassBoundaries(["a"], np.array([float(length)]))
    for loss in losses:
        borders.add(0, float(loss))
    return borders, borders.shares(np.ones(1), np.full(1, noise))[0]


def test_a_line_has_no_jump_and_a_staircase_nothing_else():
    visits = np.arange(6 * LENGTH)
    line, of_line = measured(1 - visits / 400)
    assert line.jumps[0] == pytest.approx(0.0, abs=1e-12)
    assert line.falls[0] == pytest.approx(5 * LENGTH / 400)
    stairs, of_stairs = measured(1 - (visits // LENGTH) * 0.1)
    assert stairs.jumps[0] == pytest.approx(stairs.falls[0]) == pytest.approx(0.5)
    assert of_line < 0.1 < 0.9 < of_stairs


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.0])
def test_the_share_of_memory_is_found_in_noise(share):
    rng, visits = np.random.default_rng(1), np.arange(8 * LENGTH)
    fall = (1 - share) * visits / LENGTH + share * (visits // LENGTH)
    losses = 1 - 0.1 * fall + 0.05 * rng.normal(size=len(visits))
    assert measured(losses)[1] == pytest.approx(share, abs=0.15)


def test_nobody_is_acquitted_before_a_border_was_seen():
    visits = np.arange(2 * LENGTH - 1)
    assert measured(1 - visits / 400)[1] == pytest.approx(0.75)
    assert measured(np.ones(500), length=3)[1] == pytest.approx(0.75)  # too short to be cut into quarters


def test_a_task_without_borders_is_believed_to_be_like_the_others():
    borders, visits = PassBoundaries(["a", "b"], np.array([40.0, 1000.0])), np.arange(6 * LENGTH)
    for visit in visits:
        borders.add(0, 1 - visit / 400)
        borders.add(1, 1 - visit / 400)
    shares = borders.shares(np.ones(2), np.full(2, 0.02))
    assert shares[0] < shares[1] < 0.4


def test_what_was_seen_survives_being_saved_in_another_order():
    rng = np.random.default_rng(0)
    one, other = PassBoundaries(["a", "b"], np.array([8.0, 5.0])), PassBoundaries(["b", "a"], np.array([5.0, 8.0]))
    for loss in rng.random(37):
        one.add(0, loss)
        one.add(1, loss)
    other.load_state_dict(one.state_dict())
    for loss in rng.random(11):
        one.add(1, loss)
        other.add(0, loss)
    assert one.jumps.tolist() == other.jumps[::-1].tolist()
    assert one.passed.tolist() == other.passed[::-1].tolist() == [3, 8]
