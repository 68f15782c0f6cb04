"""What is true of a kind of task whatever the model: its head's shape, its loss, its metrics, its score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from rota.errors import RotaError

Facts = dict[str, Tensor]
"""What metrics need to know of each row, as tensors with one entry per row: batches can be joined."""

IGNORED = -100
"""The label of a position that has none."""


class Kind(ABC):
    """A kind of task.

    A head of `width` numbers looks at the whole row (`sees = "row"`), at each of its choices or at each of
    its tokens; `losses` and `facts` turn what the head says into a loss per row and the facts for metrics.
    """

    sees: ClassVar[Literal["row", "choices", "tokens"]] = "row"
    width: int

    @abstractmethod
    def losses(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """The loss of each row."""

    @abstractmethod
    def facts(self, outputs: Tensor, labels: Tensor) -> Facts:
        """What `metrics` needs of these rows."""

    @abstractmethod
    def metrics(self, facts: Facts) -> dict[str, float]:
        """The metrics over all rows, each in [0, 1] or [-1, 1]."""

    def score(self, metrics: dict[str, float]) -> float:
        """The one number that counts: the mean of the task's metrics."""
        return sum(metrics.values()) / len(metrics)

    def check(self, task: str, labels: Tensor) -> None:  # noqa: B027 - optional on purpose
        """Refuse training labels from which nothing can be learned."""

    def __repr__(self) -> str:
        return type(self).__name__


class Classification(Kind):
    """One of `classes` classes per row. Loss: cross-entropy. Score: accuracy."""

    def __init__(self, classes: int) -> None:
        self.width = classes

    def losses(self, outputs: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(outputs, labels, reduction="none")

    def facts(self, outputs: Tensor, labels: Tensor) -> Facts:
        return {"predicted": outputs.argmax(-1), "label": labels}

    def metrics(self, facts: Facts) -> dict[str, float]:
        return {"accuracy": (facts["predicted"] == facts["label"]).double().mean().item()}

    def check(self, task: str, labels: Tensor) -> None:
        found = labels.unique().tolist()
        if len(found) < 2:
            raise RotaError(
                f"Task '{task}' expects training rows of two classes or more. Found only class {found[0]} in "
                f"{len(labels)} rows. Give it more rows or leave it out."
            )
        outside = [label for label in found if not 0 <= label < self.width]
        if outside:
            raise RotaError(f"Task '{task}' expects labels from 0 to {self.width - 1}. Found {outside[:5]}.")

    def __repr__(self) -> str:
        return f"classification ({self.width} classes)"


class Regression(Kind):
    """A number per row. Loss: squared error. Score: mean of Pearson's and Spearman's correlation."""

    width = 1

    def losses(self, outputs: Tensor, labels: Tensor) -> Tensor:
        return (outputs.squeeze(-1) - labels) ** 2

    def facts(self, outputs: Tensor, labels: Tensor) -> Facts:
        return {"predicted": outputs.squeeze(-1).float(), "label": labels.float()}

    def metrics(self, facts: Facts) -> dict[str, float]:
        predicted, label = facts["predicted"].double(), facts["label"].double()
        if not torch.isfinite(predicted).all():
            return {"pearson": 0.0, "spearman": 0.0}
        return {"pearson": _correlation(predicted, label), "spearman": _correlation(_ranks(predicted), _ranks(label))}

    def check(self, task: str, labels: Tensor) -> None:
        if len(labels.unique()) < 2:
            raise RotaError(
                f"Task '{task}' expects training rows with different targets. Found only {labels[0].item():g} in "
                f"{len(labels)} rows. Give it more rows or leave it out."
            )

    def __repr__(self) -> str:
        return "regression"


class MultipleChoice(Classification):
    """Which of several choices is right? Each choice is a text of its own. Score: accuracy."""

    sees: ClassVar = "choices"

    def __init__(self, choices: int) -> None:
        self.choices = choices
        self.width = 1

    def check(self, task: str, labels: Tensor) -> None:
        if len(labels.unique()) < 2:
            raise RotaError(
                f"Task '{task}' expects rows whose right choice differs. Found choice {labels[0].item()} in all "
                f"{len(labels)} rows. Shuffle the choices."
            )

    def __repr__(self) -> str:
        return f"multiple choice ({self.choices} choices)"


class Tagging(Kind):
    """One of `classes` tags per token. Loss: mean cross-entropy of a row's tags. Score: accuracy of the tags."""

    sees: ClassVar = "tokens"

    def __init__(self, classes: int) -> None:
        self.width = classes

    def losses(self, outputs: Tensor, labels: Tensor) -> Tensor:
        each = F.cross_entropy(outputs.transpose(1, 2), labels, ignore_index=IGNORED, reduction="none")
        return each.sum(1) / (labels != IGNORED).sum(1).clamp(min=1)

    def facts(self, outputs: Tensor, labels: Tensor) -> Facts:
        right = (outputs.argmax(-1) == labels) & (labels != IGNORED)
        return {"right": right.sum(1), "total": (labels != IGNORED).sum(1)}

    def metrics(self, facts: Facts) -> dict[str, float]:
        return {"tag_accuracy": facts["right"].sum().item() / max(facts["total"].sum().item(), 1)}

    def __repr__(self) -> str:
        return f"tagging ({self.width} tags)"


class Span(Kind):
    """Where does the answer begin and end? Loss: mean cross-entropy of both ends. Score: exact match."""

    sees: ClassVar = "tokens"
    width = 2

    def losses(self, outputs: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(outputs, labels, reduction="none").mean(1)  # positions are the classes

    def facts(self, outputs: Tensor, labels: Tensor) -> Facts:
        return {"right": (outputs.argmax(1) == labels).all(1)}

    def metrics(self, facts: Facts) -> dict[str, float]:
        return {"exact_match": facts["right"].double().mean().item()}

    def __repr__(self) -> str:
        return "answer span"


def _correlation(x: Tensor, y: Tensor) -> float:
    """Pearson's correlation; 0 where one side is constant."""
    x, y = x - x.mean(), y - y.mean()
    scale = (x.norm() * y.norm()).item()
    return (x @ y).item() / scale if scale > 0 else 0.0


def _ranks(values: Tensor) -> Tensor:
    """Ranks, equal values sharing their mean rank."""
    _, inverse, counts = values.unique(return_inverse=True, return_counts=True)
    ends = counts.cumsum(0).double()
    return (ends - (counts.double() - 1) / 2)[inverse].to(torch.float64)
