"""A number per row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rota.errors import RotaError
from rota.tasks._kind import Kind, RowStats
from rota.tasks._metrics import correlation, ranks

if TYPE_CHECKING:
    from rota.tasks._rows import Rows

CORRELATIONS = ("pearson", "spearman")


@dataclass(frozen=True, repr=False)
class Regression(Kind):
    """A number per row. Loss: squared error. Score: mean of Pearson's and Spearman's correlation.

    Args:
        scale: Standard deviation of the targets, so that likelihood and uncertainty do not depend on their unit.
        measured: Names of the metrics; the score is their mean.

    >>> kind = Regression(scale=2.0)
    >>> outputs, labels = torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([1.0, 3.0, 4.0])
    >>> kind.losses(outputs, labels)
    tensor([0., 1., 0.])
    >>> {name: round(value, 2) for name, value in kind.metrics(kind.row_stats(outputs, labels)).items()}
    {'pearson': 0.93, 'spearman': 1.0}
    """

    scale: float = 1.0
    measured: tuple[str, ...] = CORRELATIONS

    @property
    def width(self) -> int:
        return 1

    @property
    def metric_names(self) -> tuple[str, ...]:
        return self.measured

    @property
    def known_metrics(self) -> tuple[str, ...]:
        return CORRELATIONS

    def losses(self, outputs: Tensor, labels: Tensor) -> Tensor:
        return (outputs.squeeze(-1) - labels) ** 2

    def trivial_loss(self, labels: Tensor) -> float:
        return float(labels.double().var(correction=0))

    @property
    def unit(self) -> float:
        """Half the squared error counts, in units of `scale`: a Gaussian of that width, its constant left out."""
        return 2 * self.scale**2

    def decisions(self, outputs_KN: Tensor, labels: Tensor) -> None:
        """A number is no choice between options."""

    def uncertainty(self, outputs_KN: Tensor, labels: Tensor) -> Tensor:
        """v / (1 + v), v the `variance`. One pass says nothing: 0."""
        v = self.variance(outputs_KN)
        return v / (1 + v)

    def variance(self, outputs_KN: Tensor) -> Tensor:
        """The variance of the K means of each row, in units of `scale`²."""
        return outputs_KN.squeeze(-1).var(0, correction=0) / self.scale**2

    def row_stats(self, outputs: Tensor, labels: Tensor) -> RowStats:
        return {"predicted": outputs.squeeze(-1).float(), "label": labels.float()}

    def metrics(self, row_stats: RowStats, rows: Rows | None = None) -> dict[str, float]:
        predicted, label = row_stats["predicted"].double(), row_stats["label"].double()
        if not torch.isfinite(predicted).all():
            return dict.fromkeys(self.measured, 0.0)
        found = {"pearson": correlation(predicted, label), "spearman": correlation(ranks(predicted), ranks(label))}
        return {name: found[name] for name in self.measured}

    def answers(self, row_stats: RowStats, rows: Rows) -> list[dict[str, Any]]:
        return [
            {"value": round(value, 6) if math.isfinite(value) else None} for value in row_stats["predicted"].tolist()
        ]

    def check(self, task: str, labels: Tensor) -> None:
        if not torch.isfinite(labels).all():
            raise RotaError(f"Task '{task}' expects targets that are numbers. Found some that are not.")
        if len(labels.unique()) < 2:
            raise RotaError(
                f"Task '{task}' expects training rows with different targets. Found only {labels[0].item():g} in "
                f"{len(labels)} rows. Give it more rows or leave it out."
            )

    def __repr__(self) -> str:
        return "regression"
