"""Where the answer begins and ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from rota.tasks._kind import Decisions, Kind, RowStats
from rota.tasks._metrics import exact_match, overlap_f1

if TYPE_CHECKING:
    from rota.tasks._rows import Rows

MASKED = -1e9
"""What a head says of positions where no answer can be."""


@dataclass(frozen=True, repr=False)
class Span(Kind):
    """Where does the answer begin and end? Loss: mean cross-entropy of both ends. Score: exact match of both.

    >>> kind = Span()
    >>> outputs = torch.tensor([[[5.0, 0.0], [0.0, 0.0], [0.0, 5.0]]])
    >>> kind.losses(outputs, torch.tensor([[0, 2]])).round(decimals=3)
    tensor([0.0130])
    """

    sees: ClassVar = "tokens"

    @property
    def width(self) -> int:
        return 2

    @property
    def metric_names(self) -> tuple[str, ...]:
        return ("exact_match",)

    def losses(self, outputs: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(outputs, labels, reduction="none").mean(1)  # positions are the classes

    def decisions(self, outputs_KN: Tensor, labels: Tensor) -> Decisions:
        """Both ends of the answer, among the real positions."""
        places = (outputs_KN[0] > MASKED / 2).sum(1)
        return Decisions(outputs_KN.softmax(-2).transpose(-1, -2), torch.ones_like(places, dtype=torch.bool), places)

    def row_stats(self, outputs: Tensor, labels: Tensor) -> RowStats:
        return {"predicted": outputs.argmax(1), "label": labels}

    def metrics(self, row_stats: RowStats, rows: Rows | None = None) -> dict[str, float]:
        return {"exact_match": (row_stats["predicted"] == row_stats["label"]).all(1).double().mean().item()}

    def answers(self, row_stats: RowStats, rows: Rows) -> list[dict[str, Any]]:
        return [{"start": start, "end": end} for start, end in row_stats["predicted"].tolist()]

    def __repr__(self) -> str:
        return "answer span"


class Passages(Protocol):
    """The texts behind rows that are windows over passages (`rows.side["passages"]`).

    >>> from rota.tasks import TensorRows
    >>> class Rhine:
    ...     def questions(self):
    ...         return [0]
    ...     def excerpt(self, row, start, end):
    ...         return " ".join("from the Alps to the sea".split()[start : end + 1])
    ...     def references(self, question):
    ...         return ["the Alps"]
    >>> rows, kind = TensorRows({}, torch.tensor([[1, 2]]), side={"passages": Rhine()}), Answer()
    >>> kind.metrics(kind.row_stats(torch.eye(6)[None, :, 1:3] * 9, rows.labels()), rows)
    {'exact_match': 1.0, 'f1': 1.0}
    """

    def questions(self) -> list[int]:
        """The question of each row, numbered from 0 in the order of their first rows."""

    def excerpt(self, row: int, start: int, end: int) -> str | None:
        """The text from one token of a row to another; None where they are not both in the passage."""

    def references(self, question: int) -> Sequence[str]:
        """The right answers."""


@dataclass(frozen=True, repr=False)
class Answer(Span):
    """An answer inside a passage, as in SQuAD: rows are windows over the passage, a question's answer is the best
    excerpt of all its windows. Scores as published: exact match and F1 of words, best over the references.

    Args:
        best: How many beginnings and ends of each window are tried (n-best).
        longest: Most tokens in an answer.

    >>> Answer().metric_names
    ('exact_match', 'f1')
    """

    best: int = 20
    longest: int = 30

    @property
    def metric_names(self) -> tuple[str, ...]:
        return ("exact_match", "f1")

    def row_stats(self, outputs: Tensor, labels: Tensor) -> RowStats:
        scores, places = outputs.topk(min(self.best, outputs.shape[1]), dim=1)
        return {
            "starts": places[..., 0],
            "ends": places[..., 1],
            "start_scores": scores[..., 0],
            "end_scores": scores[..., 1],
        }

    def metrics(self, row_stats: RowStats, rows: Rows | None = None) -> dict[str, float]:
        assert rows is not None, "answers are excerpts of the rows' passages"
        passages: Passages = rows.side["passages"]
        told = [answer["answer"] for answer in self.answers(row_stats, rows)]
        references = [passages.references(question) for question in range(len(told))]
        pairs = list(zip(told, references, strict=True))
        return {
            "exact_match": sum(exact_match(*pair) for pair in pairs) / len(pairs),
            "f1": sum(overlap_f1(*pair) for pair in pairs) / len(pairs),
        }

    def answers(self, row_stats: RowStats, rows: Rows) -> list[dict[str, Any]]:
        """For each question its best answer, and up to three with their shares of the belief in all tried ones."""
        passages: Passages = rows.side["passages"]
        questions = passages.questions()
        found: list[dict[str, float]] = [{} for _ in range(max(questions) + 1)]
        columns = [row_stats[name].tolist() for name in ("starts", "ends", "start_scores", "end_scores")]
        for row, (starts, ends, start_scores, end_scores) in enumerate(zip(*columns, strict=True)):
            own = found[questions[row]]
            for start, start_score in zip(starts, start_scores, strict=True):
                for end, end_score in zip(ends, end_scores, strict=True):
                    if 0 <= start <= end < start + self.longest:
                        text = passages.excerpt(row, start, end)
                        score = start_score + end_score
                        if text is not None and math.isfinite(score):
                            own[text] = max(own.get(text, -math.inf), score)
        return [_best(candidates) for candidates in found]


def _best(candidates: dict[str, float]) -> dict[str, Any]:
    if not candidates:
        return {"answer": "", "candidates": []}
    ordered = sorted(candidates.items(), key=lambda item: (-item[1], item[0]))
    shares = torch.tensor([score for _, score in ordered], dtype=torch.float64).softmax(0).tolist()
    listed = [
        {"answer": text, "probability": round(p, 6)} for (text, _), p in zip(ordered[:3], shares[:3], strict=True)
    ]
    return {"answer": ordered[0][0], "candidates": listed}
