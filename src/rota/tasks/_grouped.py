"""Rows that belong together: several answers to one question, several entities for one gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rota.tasks._classification import Classification
from rota.tasks._kind import RowStats
from rota.tasks._metrics import f1
from rota.tasks._probability_metrics import PROBABILITY_METRICS

if TYPE_CHECKING:
    from rota.tasks._rows import Rows

OF_GROUPS = ("exact_match", "f1")


@dataclass(frozen=True, repr=False)
class GroupedAnswers(Classification):
    """Each row is one possible answer to a question, right (1) or wrong (0); several may be right (MultiRC).

    Scores: `exact_match`, the share of questions all of whose answers are judged right, and `f1` over all answers.
    `rows.side["group"]` numbers the questions.

    >>> import numpy as np
    >>> from rota.tasks import TensorRows
    >>> rows, kind = TensorRows({}, torch.tensor([1, 0, 1]), side={"group": np.array([0, 0, 1])}), GroupedAnswers()
    >>> kind.metrics(kind.row_stats(torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]), rows.labels()), rows)
    {'exact_match': 0.5, 'f1': 0.6666666666666666}
    """

    classes: int = 2
    measured: tuple[str, ...] = ()

    @property
    def metric_names(self) -> tuple[str, ...]:
        return self.measured or OF_GROUPS

    @property
    def known_metrics(self) -> tuple[str, ...]:
        return (*OF_GROUPS, "accuracy", "matthews", *PROBABILITY_METRICS)  # of the answers, one by one

    def metrics(self, row_stats: RowStats, rows: Rows | None = None) -> dict[str, float]:
        assert rows is not None, "the questions of the answers are the rows' groups"
        wrong = (row_stats["predicted"] != row_stats["label"]).long()
        own = {
            "exact_match": (_per_group(wrong, rows, "sum") == 0).double().mean().item(),
            "f1": f1(row_stats["predicted"], row_stats["label"]),
        }
        return self.measure(self.metric_names, row_stats, own)

    def __repr__(self) -> str:
        return "grouped answers"


@dataclass(frozen=True, repr=False)
class Cloze(Classification):
    """Each row is a gap filled with one candidate, right (1) or wrong (0); the most likely one is the answer (ReCoRD).

    Scores: exact match and F1 of words of the chosen candidates. `rows.side["group"]` numbers the gaps;
    `rows.side["exact"]` and `rows.side["f1"]` say what choosing each candidate would score.

    >>> import numpy as np
    >>> from rota.tasks import TensorRows
    >>> side = {"group": np.array([0, 0]), "exact": np.array([0.0, 1.0]), "f1": np.array([0.4, 1.0])}
    >>> rows, kind = TensorRows({}, torch.tensor([0, 1]), side=side), Cloze()
    >>> kind.metrics(kind.row_stats(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), rows.labels()), rows)
    {'exact_match': 1.0, 'f1': 1.0}
    """

    classes: int = 2
    measured: tuple[str, ...] = ()

    @property
    def metric_names(self) -> tuple[str, ...]:
        return self.measured or OF_GROUPS

    @property
    def known_metrics(self) -> tuple[str, ...]:
        return (*OF_GROUPS, *PROBABILITY_METRICS)  # of candidates, one by one

    def row_stats(self, outputs: Tensor, labels: Tensor) -> RowStats:
        # Candidates compete by how far right is above wrong: probabilities close to one are all the same.
        return {**super().row_stats(outputs, labels), "margin": outputs[:, 1] - outputs[:, 0]}

    def metrics(self, row_stats: RowStats, rows: Rows | None = None) -> dict[str, float]:
        assert rows is not None, "the gaps of the candidates are the rows' groups"
        chosen = _first_best(row_stats["margin"], rows)
        own = {
            "exact_match": torch.as_tensor(rows.side["exact"])[chosen].double().mean().item(),
            "f1": torch.as_tensor(rows.side["f1"])[chosen].double().mean().item(),
        }
        return self.measure(self.metric_names, row_stats, own)

    def answers(self, row_stats: RowStats, rows: Rows) -> list[dict[str, Any]]:
        chosen = set(_first_best(row_stats["margin"], rows).tolist())
        likely = row_stats["probabilities"][:, 1].tolist()
        return [{"chosen": row in chosen, "probability": round(p, 6)} for row, p in enumerate(likely)]

    def __repr__(self) -> str:
        return "cloze"


def _groups(rows: Rows) -> Tensor:
    return torch.as_tensor(rows.side["group"]).unique(return_inverse=True)[1]


def _per_group(values: Tensor, rows: Rows, how: str) -> Tensor:
    groups = _groups(rows)
    return torch.zeros(int(groups.max()) + 1, dtype=values.dtype).scatter_reduce(0, groups, values, how)


def _first_best(values: Tensor, rows: Rows) -> Tensor:
    """In each group the first row with the largest value; what is not a number is the smallest."""
    groups = _groups(rows)
    values = values.nan_to_num(nan=-torch.inf)
    worst = torch.full((int(groups.max()) + 1,), -torch.inf, dtype=values.dtype)
    best = worst.scatter_reduce(0, groups, values, "amax")
    winners = (values == best[groups]).nonzero().squeeze(1)
    last = torch.full_like(best, len(values), dtype=torch.long)
    return last.scatter_reduce(0, groups[winners], winners, "amin")
