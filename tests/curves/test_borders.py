"""Steps at the borders of passes: memory; slopes inside of them: learning."""

from __future__ import annotations

import itertools

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


@pytest.mark.parametrize("length", [4, 5, 10, 11])
def test_jumps_and_falls_are_their_definitions(length):
    losses = np.random.default_rng(length).random(3 * length + 2)
    borders, _ = measured(losses, length=length)
    quarter = np.arange(length) * 4 // length
    q = [[losses[p * length : (p + 1) * length][quarter == k].mean() for k in range(4)] for p in range(3)]
    jumps = [5 / 4 * (a[3] - b[0]) - 1 / 4 * (a[1] - b[2]) for a, b in itertools.pairwise(q)]
    assert borders.jumps[0] == pytest.approx(sum(jumps))
    assert borders.falls[0] == pytest.approx(q[0][3] - q[2][3])
    assert borders.passed[0] == 2


def test_shares_are_means_of_normal_distributions():
    """The share of a task is N(common, 0.1), and what all have in common N(0.75, 0.25); its jumps are N(share · fall,
    13 · borders · noise² / length). The means of all that is unknown solve one system of equations."""
    borders = PassBoundaries(["a", "b", "c"], np.array([20.0, 40.0, 400.0]))
    borders.jumps[:], borders.falls[:], borders.passed[:] = [0.2, 0.3, 0.0], [0.8, 2.0, 0.0], [1, 3, 0]
    scales, noise = np.array([1.0, 2.0, 1.0]), np.array([0.2, 0.6, 0.1])
    matrix, right = np.zeros((4, 4)), np.zeros(4)  # of the common share, and of three tasks
    matrix[0, 0], right[0] = 1 / 0.25, 0.75 / 0.25
    for k in range(3):
        matrix[[0, k + 1], [0, k + 1]] += 1 / 0.1
        matrix[[0, k + 1], [k + 1, 0]] -= 1 / 0.1
        if borders.passed[k]:
            variance = 13 * borders.passed[k] * (noise[k] / scales[k]) ** 2 / (20, 40)[k]
            fall, jump = borders.falls[k] / scales[k], borders.jumps[k] / scales[k]
            matrix[k + 1, k + 1] += fall**2 / variance
            right[k + 1] += jump * fall / variance
    expected = np.linalg.solve(matrix, right)[1:]
    assert ((expected > 0.15) & (expected < 0.7)).all()
    np.testing.assert_allclose(borders.shares(scales, noise), expected, atol=1e-9)


def test_who_rises_says_nothing_and_shares_stay_between_nothing_and_all():
    borders = PassBoundaries(["a"], np.array([20.0]))
    borders.jumps[:], borders.falls[:], borders.passed[:] = 0.5, -0.5, 2
    assert borders.shares(np.ones(1), np.full(1, 0.1)).tolist() == pytest.approx([0.75])
    borders.falls[:] = 0.1
    assert borders.shares(np.ones(1), np.full(1, 1e-9)).tolist() == [1.0]
    borders.jumps[:] = -0.5
    assert borders.shares(np.ones(1), np.full(1, 1e-9)).tolist() == [0.0]


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
