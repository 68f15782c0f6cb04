"""Metrics of predicted probabilities, tested against scikit-learn.

None of them fails or is not a number: a score must be one at every evaluation, also on a few rows of one class. What is
returned where a definition has no value is said in each of them. Probabilities that are not numbers count as 0.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from rota.tasks._metrics import ranks

ProbabilityMetric = Callable[[Tensor, Tensor], float]
"""From probabilities [N, C] and labels [N]."""

BINS = 15
"""Of the calibration error, as in Guo et al. 2017."""


def roc_auc(p_NC: Tensor, label: Tensor) -> float:
    """Area under the ROC curve: how likely a row of the class has a higher probability of it than another row, ties
    counting half. Of two classes that of class 1; of more the mean over the classes that occur, each against the rest.
    0.5, as of a guess, where all rows have one class.

    >>> roc_auc(torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]]), torch.tensor([0, 0, 1, 1]))
    0.75
    """
    return _each_against_the_rest(_auc, p_NC, label, nothing=0.5)


def average_precision(p_NC: Tensor, label: Tensor) -> float:
    """Area under the precision-recall curve, by steps: the precision at each threshold, weighted by what recall gains
    there. Of two classes that of class 1; of more the mean over the classes that occur, each against the rest. 0 where
    no row has class 1.

    >>> round(average_precision(torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]]),
    ...     torch.tensor([0, 0, 1, 1])), 3)
    0.833
    """
    return _each_against_the_rest(_precision, p_NC, label, nothing=0.0)


def log_loss(p_NC: Tensor, label: Tensor) -> float:
    """Mean of −log p(label), in nats; probabilities below 2e-16 count as that.

    >>> round(log_loss(torch.tensor([[0.5, 0.5], [0.25, 0.75]]), torch.tensor([0, 1])), 4)  # (log 2 + log 4/3) / 2
    0.4904
    """
    own = _numbers(p_NC).gather(1, label[:, None])
    return -own.clamp(min=torch.finfo(torch.float64).eps).log().mean().item()


def calibration_error(p_NC: Tensor, label: Tensor) -> float:
    """Expected calibration error: rows are put into 15 bins by the probability of their answer; the mean distance, over
    rows, between that probability and the share of right answers in a bin.

    >>> round(calibration_error(torch.tensor([[0.2, 0.8], [0.2, 0.8], [0.0, 1.0]]), torch.tensor([1, 0, 1])), 3)
    0.2
    """
    confidence, answer = _numbers(p_NC).max(1)
    right = (answer == label).double()
    place = (confidence * BINS).ceil().long().clamp(1, BINS) - 1  # bins hold their upper ends
    gaps = torch.zeros(BINS, dtype=torch.float64).index_add(0, place, right - confidence)
    return gaps.abs().sum().item() / len(label)


PROBABILITY_METRICS: dict[str, ProbabilityMetric] = {
    "auc": roc_auc,
    "average_precision": average_precision,
    "log_loss": log_loss,
    "ece": calibration_error,
}


def _each_against_the_rest(
    metric: Callable[[Tensor, Tensor], float], p_NC: Tensor, label: Tensor, nothing: float
) -> float:
    p_NC = _numbers(p_NC)
    if p_NC.shape[1] == 2:
        return metric(p_NC[:, 1], label == 1)
    found = [metric(p_NC[:, c], label == c) for c in label.unique().tolist()]
    return sum(found) / len(found) if len(found) > 1 else nothing


def _auc(p: Tensor, positive: Tensor) -> float:
    ones = int(positive.sum())
    pairs = ones * (len(positive) - ones)
    return (ranks(p)[positive].sum().item() - ones * (ones + 1) / 2) / pairs if pairs else 0.5


def _precision(p: Tensor, positive: Tensor) -> float:
    if not positive.any():
        return 0.0
    values, place = (-p).unique(return_inverse=True)  # thresholds, the highest first; ties are one
    hits = torch.zeros(len(values), dtype=torch.float64).index_add(0, place, positive.double())
    rows = torch.zeros_like(hits).index_add(0, place, torch.ones_like(p))
    return ((hits.cumsum(0) / rows.cumsum(0)) * hits).sum().item() / hits.sum().item()


def _numbers(p_NC: Tensor) -> Tensor:
    return p_NC.double().nan_to_num(nan=0.0)
