"""What is true of a kind of task whatever the model: its head's shape, its loss, its metrics, its score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from rota.tasks._rows import Rows

RowStats = dict[str, Tensor]
"""What metrics and answers need to know of each row, as tensors with one entry per row: batches can be joined.
Tensors of different widths are padded with `IGNORED`."""

IGNORED = -100
"""The label of a position that has none."""


def entropy_of(labels: Tensor) -> float:
    """The entropy of how often each label occurs, in nats.

    >>> round(entropy_of(torch.tensor([0, 1, 1, 0])), 4)
    0.6931
    """
    p = torch.unique(labels, return_counts=True)[1].double() / max(1, labels.numel())
    return float(-(p * p.log()).sum())


class Decisions(NamedTuple):
    """What K passes say about the decisions of N rows.

    Args:
        p: Probability of each of C options in each of D decisions, [K, N, D, C].
        counted: Whether there is such a decision, [N, D].
        options: How many of the options are possible, [N, D].

    >>> two = Decisions(torch.full((1, 1, 2, 3), 1 / 3), torch.tensor([[True, True]]), torch.tensor([[3, 3]]))
    >>> two.mean(torch.tensor([[0.2, 0.4]]))
    tensor([0.3000])
    """

    p: Tensor
    counted: Tensor
    options: Tensor

    def mean(self, values_ND: Tensor) -> Tensor:
        """The mean over the decisions of each row; 0 for a row without one."""
        return (values_ND * self.counted).sum(1) / self.counted.sum(1).clamp(min=1)


class Kind(ABC):
    """A kind of task.

    A head of `width` numbers looks at the whole row (`sees = "row"`), at each of its choices, at each of its
    tokens, or at the row and `spans` places in it; `losses` and `row_stats` turn what the head says into a loss per
    row and the facts for metrics and answers. Kinds are frozen dataclasses of plain values: `describe` writes them
    as JSON, `kind_from` reads them back.

    >>> from rota.tasks import Regression, kind_from
    >>> Regression(scale=2.0).describe()
    {'type': 'Regression', 'scale': 2.0}
    >>> kind_from(Regression(scale=2.0).describe())
    regression
    """

    sees: ClassVar[Literal["row", "choices", "tokens", "spans"]] = "row"
    spans: int = 0

    @property
    @abstractmethod
    def width(self) -> int:
        """Numbers that the head says of each thing it sees."""

    @property
    @abstractmethod
    def metric_names(self) -> tuple[str, ...]:
        """What `metrics` is about."""

    @abstractmethod
    def losses(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """The loss of each row."""

    @property
    def unit(self) -> float:
        """What turns a loss into -log p, per decision and up to a constant; 1 unless the kind says otherwise."""
        return 1.0

    def trivial_loss(self, labels: Tensor) -> float | None:
        """The mean loss of the best constant prediction; None if unknown."""
        return None

    def nll(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """-log p(label) of each row, per decision, up to a constant."""
        return self.losses(outputs, labels) / self.unit

    @abstractmethod
    def decisions(self, outputs_KN: Tensor, labels: Tensor) -> Decisions | None:
        """What K passes of the model say about each of N rows; None where it is no choice between options. Labels only
        tell where there are decisions, never what is right."""

    def uncertainty(self, outputs_KN: Tensor, labels: Tensor) -> Tensor:
        """How uncertain K passes of the model are about each of N rows: 0 certain, 1 uniform, whatever the number of
        options; the mean over a row's decisions. The entropy of the mean prediction over that of a guess."""
        found = self.decisions(outputs_KN, labels)
        assert found is not None, "kinds without options define their own uncertainty"
        p_NDC = found.p.mean(0)
        entropy = torch.special.entr(p_NDC).sum(-1)
        return found.mean(entropy / found.options.clamp(min=2).to(p_NDC.dtype).log())

    @abstractmethod
    def row_stats(self, outputs: Tensor, labels: Tensor) -> RowStats:
        """What `metrics` and `answers` need of these rows."""

    @abstractmethod
    def metrics(self, row_stats: RowStats, rows: Rows | None = None) -> dict[str, float]:
        """The metrics over all rows of a split, each in [0, 1] or [-1, 1]."""

    @abstractmethod
    def answers(self, row_stats: RowStats, rows: Rows) -> list[dict[str, Any]]:
        """What the model says, as plain JSON, one object for each example."""

    def score(self, metrics: dict[str, float]) -> float:
        """The one number that counts: the mean of the task's metrics."""
        return sum(metrics.values()) / len(metrics)

    def check(self, task: str, labels: Tensor) -> None:  # noqa: B027 - optional on purpose
        """Refuse training labels from which nothing can be learned."""

    def describe(self) -> dict[str, Any]:
        """The kind as plain JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return {"type": type(self).__name__, **plain}
