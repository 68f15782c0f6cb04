"""What is true of a kind of task whatever the model: its head's shape, its loss, its metrics, its score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor

from rota.averages import is_lower_better
from rota.errors import RotaError, unknown_name
from rota.tasks._probability_metrics import PROBABILITY_METRICS

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


def refuse_without_score(metrics: Sequence[str], where: str) -> None:
    """Refuse metrics of which no score can be made."""
    if all(map(is_lower_better, metrics)):
        raise RotaError(
            f"{where} expects a metric that is higher for better models, of which its score is made. Found "
            f"{', '.join(metrics) or 'none'}. Add one, such as accuracy."
        )


class Kind(ABC):
    """A kind of task.

    A head of `width` numbers looks at the whole row (`sees = "row"`), at each of its choices, at each of its
    tokens, or at the row and `spans` places in it; a language model says what comes "next". `losses` and `row_stats`
    turn what the head says into a loss per row and the facts for metrics and answers. Kinds are frozen dataclasses of
    plain values: `describe` writes them as JSON, `kind_from` reads them back.

    >>> from rota.tasks import Regression, kind_from
    >>> Regression(scale=2.0).describe()
    {'type': 'Regression', 'scale': 2.0, 'measured': ['pearson', 'spearman']}
    >>> kind_from(Regression(scale=2.0).describe())
    regression
    """

    sees: ClassVar[Literal["row", "choices", "tokens", "spans", "next"]] = "row"
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

    def weights(self, labels: Tensor) -> Tensor | None:
        """How much the loss of each row counts in the mean over rows, such as its number of tokens; None: equally."""
        return None

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
        """The one number that counts: the mean of the metrics, without those that are lower for better models."""
        counted = [value for name, value in metrics.items() if not is_lower_better(name)]
        return sum(counted) / len(counted)

    @property
    def known_metrics(self) -> tuple[str, ...]:
        """Names of the metrics that it can be measured by."""
        return self.metric_names

    def measured_by(self, names: Sequence[str], task: str = "") -> Kind:
        """The same kind with these metrics, in place of its usual ones.

        >>> from rota.tasks import Classification
        >>> Classification(2).measured_by(["auc", "f1"]).metric_names
        ('auc', 'f1')
        """
        where = f"Task '{task}'" if task else "A task"
        for name in names:
            if name in PROBABILITY_METRICS and name not in self.known_metrics:
                raise RotaError(
                    f"{where} ({self!r}) expects metrics of what it predicts: {', '.join(self.known_metrics)}. Found "
                    f"'{name}', which needs probabilities of classes. Leave it out."
                )
            if name not in self.known_metrics:
                raise unknown_name(f"metric of {self!r}", name, self.known_metrics)
        refuse_without_score(names, where)
        if set(names) == set(self.metric_names):
            return self
        if "measured" not in (field.name for field in fields(self)):  # type: ignore[arg-type]
            raise RotaError(
                f"{where} ({self!r}) expects its own metrics, {', '.join(self.metric_names)}. Found {', '.join(names)}."
            )
        return replace(self, measured=tuple(dict.fromkeys(names)))  # type: ignore[type-var]

    def check(self, task: str, labels: Tensor) -> None:  # noqa: B027 - optional on purpose
        """Refuse training labels from which nothing can be learned."""

    def describe(self) -> dict[str, Any]:
        """The kind as plain JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return {"type": type(self).__name__, **plain}
