"""Trouble that is planted in the training rows of a task, to see who notices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rota.arrays import Ids
from rota.errors import RotaError
from rota.seeds import generator
from rota.tasks._batch import Batch
from rota.tasks._classification import Classification, MultipleChoice, SpanClassification
from rota.tasks._device_rows import DeviceRows, SupportsDeviceRows
from rota.tasks._kind import Kind
from rota.tasks._regression import Regression
from rota.tasks._rows import Rows

TROUBLES = ("shuffled", "mislabelled", "duplicated")
"""What may be wrong."""
LABELLED = (Classification, MultipleChoice, SpanClassification, Regression)
"""Kinds of tasks with one label per row, which may be that of another row."""


@dataclass(frozen=True)
class Trouble:
    """What is wrong with the training rows of a task, for every run alike. Dev and test rows stay as they are.

    Args:
        shuffled: Whether labels are dealt out to the rows anew: there is nothing to learn.
        mislabelled: Part of the rows whose label is wrong: another class, or the number of another row.
        duplicated: How often each row is there: a size that says nothing.

    >>> Trouble(duplicated=20).is_there, Trouble().is_there
    (True, False)
    """

    shuffled: bool = False
    mislabelled: float = 0.0
    duplicated: int = 1

    @property
    def is_there(self) -> bool:
        return self != Trouble()


def with_trouble(rows: Rows, trouble: Trouble, kind: Kind, task: str) -> Rows:
    """Rows with trouble; the same for every run.

    Args:
        rows: Those of the training.
        trouble: What is wrong with them.
        kind: Of the task.
        task: Its name.

    >>> from rota.tasks import TensorRows
    >>> rows = TensorRows({"x": torch.zeros(10)}, torch.tensor([0, 1] * 5))
    >>> bad = with_trouble(rows, Trouble(mislabelled=0.3, duplicated=2), Classification(2), "rte")
    >>> len(bad), int((bad.labels()[:10] != rows.labels()).sum())
    (20, 3)
    """
    if trouble.shuffled or trouble.mislabelled:
        if not isinstance(kind, LABELLED):
            raise RotaError(
                f"Task '{task}' expects one label per row, such as a class, where labels are wrong on purpose. "
                f"Found {type(kind).__name__}. Leave shuffled and mislabelled out."
            )
        labels = rows.labels()
        if trouble.shuffled:
            labels = labels[torch.from_numpy(generator(0, "shuffled", task).permutation(len(labels)))]
        if trouble.mislabelled:
            labels = _mislabelled(labels, trouble.mislabelled, kind, task)
        stored = isinstance(rows, SupportsDeviceRows)
        rows = StoredRelabelledRows(rows, labels) if stored else RelabelledRows(rows, labels)
    if trouble.duplicated > 1:
        rows = rows.take(np.tile(np.arange(len(rows)), trouble.duplicated))
    return rows


def _mislabelled(
    labels: Tensor, part: float, kind: Classification | MultipleChoice | SpanClassification | Regression, task: str
) -> Tensor:
    rng = generator(0, "mislabelled", task)
    wrong = torch.from_numpy(rng.permutation(len(labels))[: round(part * len(labels))])
    found = labels.clone()
    if isinstance(kind, Regression):
        found[wrong] = labels[wrong.roll(1)]
        return found
    classes = kind.choices if isinstance(kind, MultipleChoice) else kind.classes
    away = torch.from_numpy(rng.integers(1, classes, size=len(wrong)))
    found[wrong] = ((labels[wrong] + away) % classes).to(labels.dtype)
    return found


class RelabelledRows:
    """Rows with other labels.

    Args:
        rows: Those with the right ones.
        labels: One for each row.
    """

    def __init__(self, rows: Rows, labels: Tensor) -> None:
        self._rows, self._labels = rows, labels

    @property
    def side(self) -> Mapping[str, Any]:
        return self._rows.side

    def __len__(self) -> int:
        return len(self._rows)

    def batch(self, ids: Ids) -> Batch:
        return Batch(self._rows.batch(ids).inputs, self._labels[torch.from_numpy(ids)])

    def labels(self) -> Tensor:
        return self._labels

    def lengths(self) -> Ids | None:
        return self._rows.lengths()

    def take(self, ids: Ids) -> RelabelledRows:
        return type(self)(self._rows.take(ids), self._labels[torch.from_numpy(ids)])


class StoredRelabelledRows(RelabelledRows):
    """The same of rows that can be moved to a device as a whole."""

    def device_rows(self) -> RelabelledDeviceRows:
        assert isinstance(self._rows, SupportsDeviceRows)
        return RelabelledDeviceRows(self._rows.device_rows(), self._labels)


@dataclass(frozen=True)
class RelabelledDeviceRows:
    """Rows with other labels, in the memory of one device."""

    rows: DeviceRows
    labels: Tensor

    @property
    def tensors(self) -> Sequence[Tensor]:
        return [*self.rows.tensors, self.labels]

    def to(self, device: torch.device) -> RelabelledDeviceRows:
        return RelabelledDeviceRows(self.rows.to(device), self.labels.to(device))

    def take(self, ids: Tensor, width: int | None = None) -> Batch:
        return Batch(self.rows.take(ids, width).inputs, self.labels[ids])
