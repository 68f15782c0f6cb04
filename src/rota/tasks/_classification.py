"""One of several classes: for a row, for two places in it, among several choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from rota.errors import RotaError, unknown_name
from rota.tasks._kind import Decisions, Kind, RowStats, entropy_of, refuse_without_score
from rota.tasks._metrics import METRICS
from rota.tasks._probability_metrics import PROBABILITY_METRICS

if TYPE_CHECKING:
    from rota.tasks._rows import Rows

NOTHING: Mapping[str, float] = MappingProxyType({})


class OneOfSeveral(Kind):
    """What classes and choices have in common: one number for each of them, of which the largest is the answer."""

    def losses(self, outputs: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(outputs, labels, reduction="none")

    def trivial_loss(self, labels: Tensor) -> float:
        return entropy_of(labels)

    def decisions(self, outputs_KN: Tensor, labels: Tensor) -> Decisions:
        """One for each row."""
        p_KNDC = outputs_KN.softmax(-1)[:, :, None]
        counted = torch.ones_like(p_KNDC[0, ..., 0], dtype=torch.bool)
        return Decisions(p_KNDC, counted, torch.full_like(counted, p_KNDC.shape[-1], dtype=torch.long))

    def row_stats(self, outputs: Tensor, labels: Tensor) -> RowStats:
        return {"predicted": outputs.argmax(-1), "label": labels, "probabilities": outputs.softmax(-1)}

    def measure(
        self, names: Sequence[str], row_stats: RowStats, own: Mapping[str, float] = NOTHING
    ) -> dict[str, float]:
        """These metrics of all rows; `own` are those that the kind has worked out itself."""
        label = row_stats["label"]
        return {
            name: own[name]
            if name in own
            else PROBABILITY_METRICS[name](row_stats["probabilities"], label)
            if name in PROBABILITY_METRICS
            else METRICS[name](row_stats["predicted"], label)
            for name in names
        }


@dataclass(frozen=True, repr=False)
class Classification(OneOfSeveral):
    """One of `classes` classes per row. Loss: cross-entropy.

    Args:
        classes: How many.
        measured: Names of the metrics; the score is their mean, without those that are lower for better models.
        names: Of the classes, for answers; by default their numbers.
        parts: Where given, rows belong to parts (`rows.side["part"]`), which are measured one by one, such as the
            matched and mismatched rows of MNLI.

    >>> sentiment = Classification(2, names=("bad", "good"))
    >>> outputs = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    >>> sentiment.losses(outputs, torch.tensor([0, 0])).round(decimals=3)
    tensor([0.1270, 1.3130])
    >>> sentiment.metrics(sentiment.row_stats(outputs, torch.tensor([0, 0])))
    {'accuracy': 0.5}
    """

    classes: int
    measured: tuple[str, ...] = ("accuracy",)
    names: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.measured:
            if name not in self.known_metrics:
                raise unknown_name("metric of classification", name, self.known_metrics)
        if self.measured:
            refuse_without_score(self.measured, "A classification")
        if self.names and len(self.names) != self.classes:
            raise RotaError(f"Expected {self.classes} names of classes. Found {len(self.names)}.")

    @property
    def width(self) -> int:
        return self.classes

    @property
    def metric_names(self) -> tuple[str, ...]:
        return tuple(f"{name}_{part}" for part in self.parts for name in self.measured) or self.measured

    @property
    def known_metrics(self) -> tuple[str, ...]:
        return (*METRICS, *PROBABILITY_METRICS)

    def metrics(self, row_stats: RowStats, rows: Rows | None = None) -> dict[str, float]:
        if not self.parts or rows is None:
            return self.measure(self.measured, row_stats)
        part = torch.as_tensor(rows.side["part"])
        found = {}
        for k, name in enumerate(self.parts):
            if (part == k).any():
                own = self.measure(self.measured, {fact: values[part == k] for fact, values in row_stats.items()})
                found.update({f"{metric}_{name}": value for metric, value in own.items()})
        return found or self.measure(self.measured, row_stats)

    def answers(self, row_stats: RowStats, rows: Rows) -> list[dict[str, Any]]:
        names = self.names or tuple(str(k) for k in range(row_stats["probabilities"].shape[-1]))
        return [
            {"label": names[k], "probabilities": dict(zip(names, map(_short, p), strict=True))}
            for k, p in zip(row_stats["predicted"].tolist(), row_stats["probabilities"].tolist(), strict=True)
        ]

    def check(self, task: str, labels: Tensor) -> None:
        found = labels.unique().tolist()
        if len(found) < 2:
            raise RotaError(
                f"Task '{task}' expects training rows of two classes or more. Found only class {found[0]} in "
                f"{len(labels)} rows. Give it more rows or leave it out."
            )
        refuse_outside(task, labels, self.classes)

    def __repr__(self) -> str:
        return f"classification ({self.classes} classes)"


@dataclass(frozen=True, repr=False)
class SpanClassification(Classification):
    """One of `classes` classes per row, about `spans` places in its text: does a word mean the same in both
    sentences (WiC), does a pronoun mean this person (WSC)?

    >>> SpanClassification(2, spans=2).describe()
    {'type': 'SpanClassification', 'classes': 2, 'measured': ['accuracy'], 'names': [], 'parts': [], 'spans': 2}
    """

    sees: ClassVar = "spans"
    spans: int = 2

    def __repr__(self) -> str:
        return f"classification ({self.classes} classes) of {self.spans} spans"


@dataclass(frozen=True, repr=False)
class MultipleChoice(OneOfSeveral):
    """Which of several choices is right? Each choice is a text of its own. Score: accuracy.

    Args:
        choices: How many.
        measured: Names of the metrics: accuracy, and beside it log_loss and ece.

    >>> kind = MultipleChoice(choices=2)
    >>> kind.width, kind.metric_names
    (1, ('accuracy',))
    """

    sees: ClassVar = "choices"
    choices: int
    measured: tuple[str, ...] = ("accuracy",)

    @property
    def width(self) -> int:
        return 1

    @property
    def metric_names(self) -> tuple[str, ...]:
        return self.measured

    @property
    def known_metrics(self) -> tuple[str, ...]:
        return ("accuracy", "log_loss", "ece")  # the first choice is no class that the others could be ranked against

    def metrics(self, row_stats: RowStats, rows: Rows | None = None) -> dict[str, float]:
        return self.measure(self.measured, row_stats)

    def answers(self, row_stats: RowStats, rows: Rows) -> list[dict[str, Any]]:
        return [
            {"choice": k, "probabilities": [_short(number) for number in p]}
            for k, p in zip(row_stats["predicted"].tolist(), row_stats["probabilities"].tolist(), strict=True)
        ]

    def check(self, task: str, labels: Tensor) -> None:
        if len(labels.unique()) < 2:
            raise RotaError(
                f"Task '{task}' expects rows whose right choice differs. Found choice {labels[0].item()} in all "
                f"{len(labels)} rows. Shuffle the choices."
            )
        refuse_outside(task, labels, self.choices)

    def __repr__(self) -> str:
        return f"multiple choice ({self.choices} choices)"


def refuse_outside(task: str, labels: Tensor, classes: int) -> None:
    """Refuse labels that stand for no class."""
    outside = [label for label in labels.unique().tolist() if not 0 <= label < classes]
    if outside:
        raise RotaError(f"Task '{task}' expects labels from 0 to {classes - 1}. Found {outside[:5]}.")


def _short(probability: float) -> float:
    return round(probability, 6)
