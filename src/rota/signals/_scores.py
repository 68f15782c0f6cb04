"""How uncertain a model is about a task, from several passes over its rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from rota.signals._batchbald import batchbald, joint_mutual_information, released_batchbald
from rota.tasks import Decisions, Kind, Regression, RowStats, repeated

ScoreMeasure = Callable[[Kind, Tensor, Tensor], RowStats]
OfDecisions = Callable[[Tensor], Tensor]

JOINTLY, PICKED, SAMPLES = 128, 10, 1000
"""Rows that are looked at together, how many of them the joint scores pick, and draws where these have too many answers
to be counted: a survey is one of many, and of many such groups."""


@dataclass(frozen=True)
class Score:
    """A number for a task.

    Args:
        summary: What it is, in one line.
        measure: What is to be known of each row, from K passes [K, N, …] and labels: `nll`, and `score` or, where the
            number is about several rows together, the predictions `p` [N, K, C].
        reduce: The number, from these facts about all rows; not a number where a task of this kind has none.
        joint: Whether it is about several rows together, so that a pass must be one sample of the parameters for all of
            them: `mc_dropout(consistent=True)`.

    >>> SCORES["entropy"].summary
    'entropy of the mean prediction'
    """

    summary: str
    measure: ScoreMeasure
    reduce: Callable[[RowStats], float]
    joint: bool = False


def _measure(of_rows: Callable[[Kind, Tensor, Tensor], RowStats]) -> ScoreMeasure:
    """With the loss of each row, which says whether there is progress."""

    def measure(kind: Kind, outputs_KN: Tensor, labels: Tensor) -> RowStats:
        passes = len(outputs_KN)
        nll = kind.nll(outputs_KN.flatten(0, 1), repeated(labels, passes)).unflatten(0, (passes, -1)).mean(0)
        return {"nll": nll, **of_rows(kind, outputs_KN, labels)}

    return measure


def _by_decisions(of_decisions: OfDecisions, of_numbers: Callable[[Tensor], Tensor]) -> ScoreMeasure:
    """The mean over the decisions of a row; a function of the variance for rows that are numbers."""

    def of_rows(kind: Kind, outputs_KN: Tensor, labels: Tensor) -> RowStats:
        if isinstance(kind, Regression):
            return {"score": of_numbers(kind.variance(outputs_KN).double())}
        found = kind.decisions(outputs_KN, labels)
        assert found is not None
        return {"score": found.mean(_of_each(of_decisions, found))}

    return _measure(of_rows)


def _of_each(of_decisions: OfDecisions, found: Decisions) -> Tensor:
    """[K, N, D, C] -> [N·D, K, C] -> [N, D]"""
    _, rows, decisions, _ = found.p.shape
    return of_decisions(found.p.permute(1, 2, 0, 3).flatten(0, 1)).view(rows, decisions)


def _nothing(variance: Tensor) -> Tensor:
    """The entropy of a number cannot be compared with that of a choice."""
    return torch.full_like(variance, math.nan)


def _gaussian(variance: Tensor) -> Tensor:
    """Mutual information of a number and the model, if what the model cannot know varies as the targets do."""
    return torch.log1p(variance) / 2


# The same as in `rota.signals`, but without a look at the numbers, which would have to wait for the device.


def _entropies(p: Tensor) -> Tensor:
    return torch.special.entr(p.double()).sum(-1)


def _entropy(p_NKC: Tensor) -> Tensor:
    return _entropies(p_NKC.mean(1))


def _expected_entropy(p_NKC: Tensor) -> Tensor:
    return _entropies(p_NKC).mean(1)


def _bald(p_NKC: Tensor) -> Tensor:
    return (_entropy(p_NKC) - _expected_entropy(p_NKC)).clamp_min(0.0)


_BALD = _by_decisions(_bald, _gaussian)


def _share(kind: Kind, outputs_KN: Tensor, labels: Tensor) -> RowStats:
    return {"score": kind.uncertainty(outputs_KN, labels)}


def _predictions(kind: Kind, outputs_KN: Tensor, labels: Tensor) -> RowStats:
    """Where a row is one decision, what the passes say; else the mutual information of each row."""
    found = kind.decisions(outputs_KN, labels)
    if found is None or found.p.shape[2] > 1:
        return _BALD(kind, outputs_KN, labels)
    return {"p": found.p[:, :, 0].transpose(0, 1)}


def _mean(row_stats: RowStats) -> float:
    return float(row_stats["score"].double().mean())


def _jointly(score: Callable[[Tensor], Tensor]) -> Callable[[RowStats], float]:
    """The mean over groups of rows."""

    def reduce(row_stats: RowStats) -> float:
        if "p" not in row_stats:
            return _mean(row_stats)
        return float(torch.cat([score(p_NKC).flatten() for p_NKC in row_stats["p"].double().split(JOINTLY)]).mean())

    return reduce


def _best_jointly(p_NKC: Tensor) -> Tensor:
    return batchbald(p_NKC, PICKED, SAMPLES).scores[-1]


def _all_jointly(p_NKC: Tensor) -> Tensor:
    return joint_mutual_information(p_NKC, SAMPLES)


def _released(p_NKC: Tensor) -> Tensor:
    return released_batchbald(p_NKC, PICKED)


SCORES: dict[str, Score] = {
    "share": Score("entropy of the mean prediction over that of a guess", _measure(_share), _mean),
    "entropy": Score("entropy of the mean prediction", _by_decisions(_entropy, _nothing), _mean),
    "expected-entropy": Score("mean entropy of the predictions", _by_decisions(_expected_entropy, _nothing), _mean),
    "bald": Score("mutual information of a row's label and the model", _BALD, _mean),
    "batchbald": Score(
        f"mutual information of {PICKED} rows together and the model: of {JOINTLY}, those picked by BatchBALD",
        _measure(_predictions),
        _jointly(_best_jointly),
        joint=True,
    ),
    "joint": Score(
        f"mutual information of {JOINTLY} rows together and the model, as Fang & Alqatari print it",
        _measure(_predictions),
        _jointly(_all_jointly),
        joint=True,
    ),
    "released": Score(
        "what the released code of Fang & Alqatari computes: no mutual information",
        _measure(_predictions),
        _jointly(_released),
    ),
}
"""By name."""
