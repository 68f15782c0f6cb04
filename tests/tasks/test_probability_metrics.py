"""Metrics of probabilities agree with scikit-learn and brute force, and are numbers where those are none."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from rota.errors import RotaError
from rota.tasks import (
    Classification,
    Cloze,
    GroupedAnswers,
    MultipleChoice,
    Regression,
    Span,
    Tagging,
    TensorRows,
    adjust_tasks,
    tasks_from,
)
from rota.tasks._probability_metrics import PROBABILITY_METRICS, average_precision, calibration_error, log_loss, roc_auc

closely = {"rel": 1e-9, "abs": 1e-9}
few = settings(max_examples=60, deadline=None)  # scikit-learn is slow


def drawn(classes, count, seed, places=None):
    """Probabilities, many of them equal where they are rounded, and labels."""
    rng = np.random.default_rng(seed)
    p_NC = rng.dirichlet(np.ones(classes), size=count)
    if places is not None:
        p_NC = np.round(p_NC * places) / places + 1e-3
        p_NC /= p_NC.sum(1, keepdims=True)
    return p_NC, rng.integers(classes, size=count)


def cases(classes):
    return given(count=st.integers(2, 60), seed=st.integers(0, 10**6), places=st.sampled_from([None, 1, 3]))


def both(metric, p_NC, label):
    return metric(torch.from_numpy(p_NC), torch.from_numpy(label))


def of_present(score, p_NC, label):
    """The mean over the classes that occur of a binary score of scikit-learn."""
    return np.mean([score(label == c, p_NC[:, c]) for c in np.unique(label)])


@few
@cases(2)
def test_two_classes_are_measured_as_by_scikit_learn(count, seed, places):
    p_NC, label = drawn(2, count, seed, places)
    if len(set(label)) == 2:
        assert both(roc_auc, p_NC, label) == pytest.approx(sklearn_metrics.roc_auc_score(label, p_NC[:, 1]), **closely)
    if label.any():
        expected = sklearn_metrics.average_precision_score(label, p_NC[:, 1])
        assert both(average_precision, p_NC, label) == pytest.approx(expected, **closely)
    expected = sklearn_metrics.log_loss(label, p_NC, labels=[0, 1])
    assert both(log_loss, p_NC, label) == pytest.approx(expected, **closely)


@few
@cases(4)
def test_several_classes_are_measured_one_against_the_rest(count, seed, places):
    p_NC, label = drawn(4, count, seed, places)
    if len(set(label)) == 4:
        expected = sklearn_metrics.roc_auc_score(label, p_NC, multi_class="ovr", average="macro")
        assert both(roc_auc, p_NC, label) == pytest.approx(expected, **closely)
        expected = sklearn_metrics.average_precision_score(np.eye(4)[label], p_NC, average="macro")
        assert both(average_precision, p_NC, label) == pytest.approx(expected, **closely)
    if len(set(label)) > 1:
        expected = of_present(sklearn_metrics.roc_auc_score, p_NC, label)
        assert both(roc_auc, p_NC, label) == pytest.approx(expected, **closely)
    expected = sklearn_metrics.log_loss(label, p_NC, labels=range(4))
    assert both(log_loss, p_NC, label) == pytest.approx(expected, **closely)


@few
@cases(3)
def test_the_calibration_error_is_that_of_bins_filled_by_hand(count, seed, places):
    p_NC, label = drawn(3, count, seed, places)
    bins = {}
    for p, own in zip(p_NC, label, strict=True):
        k = max(1, math.ceil(p.max() * 15))
        bins.setdefault(k, []).append((p.max(), float(p.argmax() == own)))
    gaps = [len(own) * abs(np.mean([c for c, _ in own]) - np.mean([r for _, r in own])) for own in bins.values()]
    assert both(calibration_error, p_NC, label) == pytest.approx(sum(gaps) / count, **closely)


def test_a_constant_prediction_ranks_nothing():
    p_NC, label = np.full((6, 2), 0.5), np.array([0, 1, 0, 0, 1, 0])
    assert both(roc_auc, p_NC, label) == sklearn_metrics.roc_auc_score(label, p_NC[:, 1]) == 0.5
    assert both(average_precision, p_NC, label) == pytest.approx(2 / 6)  # the share of class 1
    assert both(log_loss, p_NC, label) == pytest.approx(math.log(2))


@pytest.mark.parametrize(("only", "precision"), [(0, 0.0), (1, 1.0)])
def test_rows_of_one_class_have_numbers_where_scikit_learn_warns(only, precision):
    p_NC, _ = drawn(2, 9, seed=0)
    label = np.full(9, only)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert math.isnan(sklearn_metrics.roc_auc_score(label, p_NC[:, 1]))
        assert sklearn_metrics.average_precision_score(label, p_NC[:, 1]) == precision
    assert both(roc_auc, p_NC, label) == 0.5
    assert both(average_precision, p_NC, label) == precision
    p_NC, _ = drawn(3, 9, seed=0)
    assert (both(roc_auc, p_NC, label), both(average_precision, p_NC, label)) == (0.5, 0.0)


def test_what_is_no_number_counts_as_zero():
    p_NC = np.array([[np.nan, np.nan], [0.2, 0.8], [1.0, 0.0]])
    label = np.array([1, 1, 0])
    found = {name: both(metric, p_NC, label) for name, metric in PROBABILITY_METRICS.items()}
    assert all(map(math.isfinite, found.values()))
    assert found["auc"] == 0.75  # one pair is right, one a tie
    wrong = both(log_loss, np.array([[1.0, 0.0]]), np.array([1]))
    assert wrong == pytest.approx(sklearn_metrics.log_loss([1], [[1.0, 0.0]], labels=[0, 1]))


def logits(seed, count, classes):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(count, classes)))


def test_the_score_is_the_mean_of_the_metrics_that_are_higher_for_better_models():
    kind = Classification(2).measured_by(["auc", "accuracy", "log_loss", "ece"])
    outputs, label = logits(0, 40, 2), torch.arange(40) % 2
    found = kind.metrics(kind.row_stats(outputs, label))
    assert list(found) == ["auc", "accuracy", "log_loss", "ece"]
    assert found["auc"] == pytest.approx(sklearn_metrics.roc_auc_score(label, outputs.softmax(1)[:, 1]))
    assert kind.score(found) == (found["auc"] + found["accuracy"]) / 2
    assert Classification(2).measured_by(["accuracy"]) == Classification(2)


def test_parts_have_probabilities_of_their_own():
    kind = Classification(2, parts=("m", "mm")).measured_by(["auc", "log_loss"])
    outputs, label, part = logits(1, 30, 2), torch.arange(30) % 2, np.arange(30) % 3 // 2
    found = kind.metrics(kind.row_stats(outputs, label), TensorRows({}, label, side={"part": part}))
    p = outputs.softmax(1)[:, 1]
    for k, name in enumerate(("m", "mm")):
        expected = sklearn_metrics.roc_auc_score(label[part == k], p[part == k])
        assert found[f"auc_{name}"] == pytest.approx(expected)
    assert kind.score(found) == (found["auc_m"] + found["auc_mm"]) / 2


def test_groups_and_choices_are_measured_by_what_they_have():
    label, side = torch.tensor([1, 0, 1, 0]), {"group": np.array([0, 0, 1, 1])}
    outputs = logits(2, 4, 2)
    p = outputs.softmax(1)[:, 1]
    kind = GroupedAnswers().measured_by(["f1", "auc"])
    found = kind.metrics(kind.row_stats(outputs, label), TensorRows({}, label, side=side))
    assert found["auc"] == sklearn_metrics.roc_auc_score(label, p)
    assert found["f1"] == sklearn_metrics.f1_score(label, p > 0.5)
    side |= {"exact": np.array([0.0, 1.0, 0.0, 1.0]), "f1": np.array([0.5, 1.0, 0.5, 1.0])}
    kind = Cloze().measured_by(["exact_match", "average_precision"])
    found = kind.metrics(kind.row_stats(outputs, label), TensorRows({}, label, side=side))
    assert found["average_precision"] == pytest.approx(sklearn_metrics.average_precision_score(label, p))
    kind = MultipleChoice(2).measured_by(["accuracy", "log_loss"])
    found = kind.metrics(kind.row_stats(outputs, label))
    assert found["log_loss"] == pytest.approx(sklearn_metrics.log_loss(label, outputs.softmax(1)))
    kind = Regression().measured_by(["spearman"])
    assert list(kind.metrics(kind.row_stats(outputs[:, :1], label))) == ["spearman"]


@pytest.mark.parametrize(
    ("kind", "names", "sentence"),
    [
        (Classification(2), ["acuracy"], "Unknown metric of classification.*Did you mean 'accuracy'"),
        (Classification(2), ["log_loss", "ece"], "expects a metric that is higher for better models"),
        (Regression(), ["auc"], "'auc', which needs probabilities of classes"),
        (Span(), ["log_loss"], "'log_loss', which needs probabilities of classes"),
        (Tagging(2), ["ece", "tag_accuracy"], "which needs probabilities of classes"),
        (MultipleChoice(2), ["auc"], "which needs probabilities of classes"),
        (Regression(), ["accuracy"], "Unknown metric of regression 'accuracy'"),
    ],
)
def test_metrics_that_a_kind_has_not_are_refused(kind, names, sentence):
    with pytest.raises(RotaError, match=sentence):
        kind.measured_by(names, "rte")


def test_a_classification_without_a_score_is_refused():
    with pytest.raises(RotaError, match="expects a metric that is higher"):
        Classification(2, measured=("log_loss",))


def test_metrics_of_a_task_are_changed_by_name():
    rows = torch.utils.data.TensorDataset(torch.randn(20, 3), torch.arange(20) % 2)
    tasks = tasks_from({"one": rows, "two": rows})
    one, two = adjust_tasks(tasks, {"one": {"metrics": ("auc", "f1"), "batch_size": 4}})
    assert (one.kind.metric_names, one.batch_size, two.kind.metric_names) == (("auc", "f1"), 4, ("accuracy",))
