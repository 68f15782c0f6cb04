"""Texts that go on: the next tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from rota.errors import RotaError
from rota.tasks._kind import IGNORED, Decisions, Kind, RowStats

if TYPE_CHECKING:
    from rota.tasks._rows import Rows

OF_TOKENS = ("likelihood", "token_accuracy")
"""Metrics that a forward pass over the row brings."""
OF_ANSWERS = ("exact_match", "f1", "rouge_l", "choice_accuracy")
"""Metrics for which the model is asked for an answer, or for one of several completions."""


@dataclass(frozen=True, repr=False)
class Causal(Kind):
    """The next tokens of a text. Loss of a row: mean -log p of its completion's tokens; that of a batch, and of a
    split, is the mean over all of their tokens, so long rows count more.

    The model answers with [rows, places, vocabulary], and a label is the token that follows its place; other places
    have the label `IGNORED`.

    Score: `likelihood`, exp(-loss): the (geometric) mean probability of a token, the inverse of the perplexity.

    Args:
        vocabulary: How many tokens there are.
        measured: Names of the metrics.

    >>> kind = Causal(3)
    >>> outputs = torch.tensor([[[0.0, 9.0, 0.0], [0.0, 0.0, 9.0]]])
    >>> labels = torch.tensor([[1, IGNORED]])
    >>> kind.weights(labels).tolist(), [round(loss, 4) for loss in kind.losses(outputs, labels).tolist()]
    ([1], [0.0002])
    """

    sees: ClassVar = "next"
    vocabulary: int
    measured: tuple[str, ...] = ("likelihood",)

    @property
    def width(self) -> int:
        return self.vocabulary

    @property
    def metric_names(self) -> tuple[str, ...]:
        return self.measured

    @property
    def known_metrics(self) -> tuple[str, ...]:
        return (*OF_TOKENS, *OF_ANSWERS)

    @property
    def asked(self) -> tuple[str, ...]:
        """The metrics for which the model is asked."""
        return tuple(name for name in self.measured if name in OF_ANSWERS)

    def losses(self, outputs: Tensor, labels: Tensor) -> Tensor:
        return self._nll(outputs, labels) / self.weights(labels).clamp(min=1)

    def weights(self, labels: Tensor) -> Tensor:
        """The tokens of each row's completion."""
        return (labels != IGNORED).sum(1)

    def trivial_loss(self, labels: Tensor) -> float:
        """That of a guess among all tokens."""
        return math.log(self.vocabulary)

    def decisions(self, outputs_KN: Tensor, labels: Tensor) -> Decisions:
        """One for each token of the completion."""
        return Decisions(outputs_KN.softmax(-1), labels != IGNORED, torch.full_like(labels, outputs_KN.shape[-1]))

    def row_stats(self, outputs: Tensor, labels: Tensor) -> RowStats:
        right = ((outputs.argmax(-1) == labels) & (labels != IGNORED)).sum(1)
        return {"nll": self._nll(outputs, labels), "right": right, "tokens": self.weights(labels)}

    def metrics(self, row_stats: RowStats, rows: Rows | None = None) -> dict[str, float]:
        tokens = max(1, int(row_stats["tokens"].sum()))
        found = {
            "likelihood": math.exp(-row_stats["nll"].double().sum().item() / tokens),
            "token_accuracy": row_stats["right"].sum().item() / tokens,
        }
        found |= {name: row_stats[name].double().mean().item() for name in self.asked}
        return {name: found[name] for name in self.measured}

    def answers(self, row_stats: RowStats, rows: Rows) -> list[dict[str, Any]]:
        """The log-probability of each completion, and its tokens."""
        return [
            {"log_probability": -nll, "tokens": tokens}
            for nll, tokens in zip(row_stats["nll"].tolist(), row_stats["tokens"].tolist(), strict=True)
        ]

    def check(self, task: str, labels: Tensor) -> None:
        tokens = labels[labels != IGNORED]
        if not tokens.numel():
            raise RotaError(f"Task '{task}' expects completions. Found no token in any of them.")
        if tokens.min() < 0 or tokens.max() >= self.vocabulary:
            wrong = tokens[(tokens < 0) | (tokens >= self.vocabulary)][0]
            raise RotaError(
                f"Task '{task}' expects tokens from 0 to {self.vocabulary - 1}, the vocabulary of its model. Found "
                f"{int(wrong)}. Use the tokenizer of the model."
            )

    def _nll(self, outputs: Tensor, labels: Tensor) -> Tensor:
        each = F.cross_entropy(outputs.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, reduction="none")
        return each.view_as(labels).sum(1)

    def __repr__(self) -> str:
        return f"causal ({self.vocabulary:,} tokens)"
