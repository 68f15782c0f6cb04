"""One tag per word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from rota.errors import RotaError
from rota.tasks._classification import refuse_outside
from rota.tasks._kind import IGNORED, Decisions, Kind, RowStats, entropy_of
from rota.tasks._metrics import entities, f1_of

if TYPE_CHECKING:
    from rota.tasks._rows import Rows


@dataclass(frozen=True, repr=False)
class Tagging(Kind):
    """One of `classes` tags per word. Loss: mean cross-entropy of a row's tags.

    Score: F1 of the named entities where all tags are of that sort (`B-place`, `I-place`, `O`), as the CoNLL scorer
    counts them; otherwise the share of right tags.

    Args:
        classes: How many tags.
        names: Their names.

    >>> Tagging(3, ("O", "B-place", "I-place")).metric_names, Tagging(2, ("noun", "verb")).metric_names
    (('f1',), ('tag_accuracy',))
    """

    sees: ClassVar = "tokens"
    classes: int
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.names and len(self.names) != self.classes:
            raise RotaError(f"Expected {self.classes} names of tags. Found {len(self.names)}.")

    @property
    def tags_entities(self) -> bool:
        """Whether the tags say where named entities begin and go on."""
        return bool(self.names) and all(name.partition("-")[0] in ("B", "I", "O") for name in self.names)

    @property
    def width(self) -> int:
        return self.classes

    @property
    def metric_names(self) -> tuple[str, ...]:
        return ("f1",) if self.tags_entities else ("tag_accuracy",)

    def losses(self, outputs: Tensor, labels: Tensor) -> Tensor:
        each = F.cross_entropy(outputs.transpose(1, 2), labels, ignore_index=IGNORED, reduction="none")
        return each.sum(1) / (labels != IGNORED).sum(1).clamp(min=1)

    def trivial_loss(self, labels: Tensor) -> float:
        return entropy_of(labels[labels != IGNORED])

    def decisions(self, outputs_KN: Tensor, labels: Tensor) -> Decisions:
        """One for each word."""
        return Decisions(outputs_KN.softmax(-1), labels != IGNORED, torch.full_like(labels, self.classes))

    def row_stats(self, outputs: Tensor, labels: Tensor) -> RowStats:
        return {"predicted": outputs.argmax(-1).masked_fill(labels == IGNORED, IGNORED), "label": labels}

    def metrics(self, row_stats: RowStats, rows: Rows | None = None) -> dict[str, float]:
        if not self.tags_entities:
            tagged = row_stats["label"] != IGNORED
            agree = (row_stats["predicted"] == row_stats["label"]) & tagged
            return {"tag_accuracy": int(agree.sum()) / max(int(tagged.sum()), 1)}
        right = found = labelled = 0
        for predicted, label in zip(self._tags(row_stats["predicted"]), self._tags(row_stats["label"]), strict=True):
            mine, true = entities(predicted), entities(label)
            right, found, labelled = right + len(mine & true), found + len(mine), labelled + len(true)
        if rows is not None and "lost" in rows.side:  # entities in text that was cut off are missed
            labelled += int(rows.side["lost"].sum())
        return {"f1": f1_of(right, found, labelled)}

    def answers(self, row_stats: RowStats, rows: Rows) -> list[dict[str, Any]]:
        """A tag for each word; None for words that were cut off."""
        found = self._tags(row_stats["predicted"])
        words = rows.side.get("words", [len(tags) for tags in found])
        return [{"tags": [*tags, *[None] * (count - len(tags))]} for tags, count in zip(found, words, strict=True)]

    def check(self, task: str, labels: Tensor) -> None:
        refuse_outside(task, labels[labels != IGNORED], self.classes)

    def _tags(self, numbers: Tensor) -> list[list[str]]:
        names = self.names or tuple(str(k) for k in range(self.classes))
        return [[names[number] for number in row if number != IGNORED] for row in numbers.tolist()]

    def __repr__(self) -> str:
        return f"tagging ({self.classes} tags)"
