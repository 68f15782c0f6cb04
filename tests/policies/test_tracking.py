"""Tracking: the moving average of the paper, by hand and by its properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.errors import RotaError
from rota.feedback import Feedback
from rota.policies import Tracking, WithFloor

TASKS = ["sst2", "mrpc", "rte"]
measures = st.lists(st.floats(0, 1e3), min_size=3, max_size=3)


def survey(policy, values, step=0):
    for task, value in zip(TASKS, values, strict=True):
        policy.observe(Feedback(task, value, None, step))


def test_two_surveys_by_hand():
    policy = Tracking(TASKS, gamma=0.25)
    assert policy.probabilities(0).tolist() == [1 / 3] * 3
    survey(policy, [0.1, 0.3, 0.6])
    assert policy.probabilities(200) == pytest.approx([0.1, 0.3, 0.6])
    survey(policy, [0.5, 0.3, 0.2])
    # 0.25 · 0.1 + 0.75 · 0.5 = 0.4; 0.3; 0.25 · 0.6 + 0.75 · 0.2 = 0.3
    assert policy.probabilities(400) == pytest.approx([0.4, 0.3, 0.3])


def test_measures_below_zero_count_as_zero_and_half_of_the_past_is_kept():
    policy = Tracking(TASKS)
    survey(policy, [-1.0, 1.0, 2.0])
    assert policy.probabilities(0) == pytest.approx([0, 1 / 3, 2 / 3])
    survey(policy, [2.0, 3.0, 0.0])
    assert policy.probabilities(0) == pytest.approx([0.5 / 3.5, 2 / 3.5, 1 / 3.5])
    survey(policy, [1e308, 1e308, 0.0])  # a sum would overflow
    assert policy.probabilities(0) == pytest.approx([0.5, 0.5, 0])


def test_the_printed_form_exchanges_the_shares():
    prose, printed = Tracking(TASKS, gamma=0.2), Tracking(TASKS, gamma=0.8, form="printed")
    half = Tracking(TASKS, gamma=0.5), Tracking(TASKS, gamma=0.5, form="printed")
    for values in ([0.1, 0.3, 0.6], [0.5, 0.3, 0.2], [0.2, 0.0, 0.9]):
        for policy in (prose, printed, *half):
            survey(policy, values)
    assert prose.probabilities(0) == pytest.approx(printed.probabilities(0))
    assert half[0].probabilities(0).tolist() == half[1].probabilities(0).tolist()


@given(measures, measures)
def test_without_a_past_it_follows_the_last_survey_and_with_nothing_else_the_first(first, last):
    follows, stays = Tracking(TASKS, gamma=0.0), Tracking(TASKS, gamma=1.0)
    for values in (first, last):
        survey(follows, values)
        survey(stays, values)
    for policy, values in ((follows, last), (stays, first)):
        expected = np.array(values) / sum(values) if sum(values) > 0 else np.full(3, 1 / 3)
        np.testing.assert_allclose(policy.probabilities(0), expected, atol=1e-12)


@given(measures, st.permutations(range(3)))
def test_permuting_tasks_permutes_probabilities(values, order):
    one, two = Tracking(TASKS), Tracking([TASKS[k] for k in order])
    for policy in (one, two):
        survey(policy, values)
    np.testing.assert_allclose(one.probabilities(0)[list(order)], two.probabilities(0), atol=1e-15)


def test_equal_measures_or_none_are_uniform():
    policy = Tracking(TASKS)
    policy.observe(Feedback("rte", 5.0))
    assert policy.probabilities(0).tolist() == [1 / 3] * 3  # the others were not measured yet
    policy = Tracking(TASKS)
    survey(policy, [0.0, 0.0, 0.0])
    assert policy.probabilities(0).tolist() == [1 / 3] * 3


def test_a_floor_of_a_quarter_of_the_uniform_share():
    policy = WithFloor(Tracking(TASKS), 0.25)
    survey(policy, [1.0, 0.0, 0.0])
    assert policy.probabilities(0) == pytest.approx([0.75 + 0.25 / 3, 0.25 / 3, 0.25 / 3])


@pytest.mark.parametrize("gamma", [-0.1, 1.1, float("nan")])
def test_gamma_is_a_share(gamma):
    with pytest.raises(RotaError, match="gamma between 0 and 1"):
        Tracking(TASKS, gamma=gamma)


def test_unknown_forms_are_refused():
    with pytest.raises(RotaError, match="'prose' or 'printed'"):
        Tracking(TASKS, form="poem")
