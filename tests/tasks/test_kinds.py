"""Losses and metrics of every kind agree with independent implementations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.metrics import accuracy_score, log_loss

from rota.errors import RotaError
from rota.tasks import IGNORED, Classification, MultipleChoice, Regression, Span, Tagging

rng = np.random.default_rng(0)


def probabilities(outputs):
    return torch.softmax(outputs, -1).numpy()


@pytest.mark.parametrize("kind", [Classification(5), MultipleChoice(5)], ids=repr)
def test_classification_agrees_with_scikit_learn(kind):
    outputs, labels = torch.randn(200, 5, dtype=torch.float64), torch.randint(5, (200,))
    expected = log_loss(labels.numpy(), probabilities(outputs), labels=range(5))
    assert kind.losses(outputs, labels).mean().item() == pytest.approx(expected, abs=1e-12)
    metrics = kind.metrics(kind.facts(outputs, labels))
    assert metrics == {"accuracy": pytest.approx(accuracy_score(labels, outputs.argmax(-1)))}
    assert kind.score(metrics) == metrics["accuracy"]


@pytest.mark.parametrize("ties", [False, True])
def test_regression_agrees_with_scipy(ties):
    outputs, labels = torch.randn(100, 1, dtype=torch.float64), torch.randn(100, dtype=torch.float64)
    if ties:
        outputs, labels = outputs.round(), labels.round()
    kind = Regression()
    assert kind.losses(outputs, labels).mean().item() == pytest.approx(((outputs[:, 0] - labels) ** 2).mean().item())
    facts = {"predicted": outputs[:, 0], "label": labels}
    metrics = kind.metrics(facts)
    assert metrics["pearson"] == pytest.approx(stats.pearsonr(outputs[:, 0], labels)[0], abs=1e-9)
    assert metrics["spearman"] == pytest.approx(stats.spearmanr(outputs[:, 0], labels)[0], abs=1e-9)
    assert kind.score(metrics) == pytest.approx((metrics["pearson"] + metrics["spearman"]) / 2)


def test_a_constant_prediction_has_correlation_zero_not_nan():
    kind = Regression()
    assert kind.metrics(kind.facts(torch.ones(5, 1), torch.arange(5.0))) == {"pearson": 0.0, "spearman": 0.0}


def test_predictions_that_are_no_numbers_score_nothing():
    kind = Regression()
    facts = kind.facts(torch.full((5, 1), float("nan")), torch.arange(5.0))
    assert kind.score(kind.metrics(facts)) == 0.0


def test_tags_count_only_where_there_is_a_label():
    kind = Tagging(3)
    outputs = torch.tensor([[[9.0, 0, 0], [0, 9, 0], [0, 0, 9]], [[9, 0, 0], [9, 0, 0], [9, 0, 0]]])
    labels = torch.tensor([[0, 1, IGNORED], [1, IGNORED, IGNORED]])
    losses = kind.losses(outputs, labels)
    right, wrong = np.log(1 + 2 * np.exp(-9)), np.log(2 + np.exp(9))
    assert losses.tolist() == pytest.approx([right, wrong], rel=1e-3)
    assert kind.metrics(kind.facts(outputs, labels)) == {"tag_accuracy": pytest.approx(2 / 3)}
    assert kind.losses(outputs[:1], torch.full((1, 3), IGNORED)).tolist() == [0.0]


def test_a_span_is_right_when_both_ends_are():
    kind = Span()
    outputs = torch.zeros(2, 4, 2)
    outputs[0, 1, 0] = outputs[0, 2, 1] = outputs[1, 0, 0] = outputs[1, 3, 1] = 5.0
    labels = torch.tensor([[1, 2], [0, 2]])
    assert kind.metrics(kind.facts(outputs, labels)) == {"exact_match": 0.5}
    certain, lost = np.log(1 + 3 * np.exp(-5)), np.log(3 + np.exp(5))
    assert kind.losses(outputs, labels).tolist() == pytest.approx([certain, (certain + lost) / 2], rel=1e-3)


@pytest.mark.parametrize("kind", [Classification(4), Regression(), MultipleChoice(4)], ids=repr)
def test_facts_of_batches_can_be_joined(kind):
    outputs = torch.randn(9, 4 if kind.width != 1 or kind.sees == "choices" else 1)
    labels = torch.rand(9) if isinstance(kind, Regression) else torch.randint(4, (9,))
    whole = kind.metrics(kind.facts(outputs, labels))
    one, two = kind.facts(outputs[:4], labels[:4]), kind.facts(outputs[4:], labels[4:])
    assert kind.metrics({name: torch.cat([one[name], two[name]]) for name in one}) == whole


def test_labels_that_teach_nothing_are_refused():
    with pytest.raises(
        RotaError, match=r"'x' expects training rows of two classes or more\. Found only class 1 in 3 rows"
    ):
        Classification(2).check("x", torch.ones(3, dtype=torch.long))
    with pytest.raises(RotaError, match=r"labels from 0 to 1. Found \[2\]"):
        Classification(2).check("x", torch.tensor([0, 1, 2]))
    with pytest.raises(RotaError, match="different targets"):
        Regression().check("x", torch.ones(3))
    with pytest.raises(RotaError, match="right choice differs"):
        MultipleChoice(2).check("x", torch.zeros(3, dtype=torch.long))
