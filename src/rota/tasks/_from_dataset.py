"""Tasks from data sets that people have: torch's, those of `datasets`, arrays, tensors, lists of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import default_collate

from rota.arrays import Ids
from rota.errors import RotaError
from rota.tasks._batch import Batch
from rota.tasks._classification import Classification
from rota.tasks._kind import Kind
from rota.tasks._regression import Regression
from rota.tasks._rows import Rows, TensorRows, sampled

Collate = Callable[[list[Any]], Any]
"""Makes of rows what a DataLoader would: a mapping that holds the labels, or a pair of inputs and labels."""
X = "x"
"""What inputs are called that have no name."""
SEVERAL = 20  # whole numbers up to so many different ones are classes
DEV = 0.1
"""Share of the rows that is held out where nobody gives dev rows."""


class DatasetRows:
    """Rows of a map-style data set, fetched when they are needed.

    Args:
        dataset: Rows by number: mappings, or pairs of input and label.
        label: The name of the label, in rows that are mappings.
        collate: Makes a batch of rows; torch's own by default.
        classes: By what the data set calls a class, its number.
        ids: Which of the rows, in this order; all of them by default.
    """

    def __init__(
        self,
        dataset: Any,
        label: str,
        collate: Collate | None = None,
        classes: Mapping[Any, int] | None = None,
        ids: Ids | None = None,
    ) -> None:
        self._dataset, self._label, self._collate, self._classes = dataset, label, collate or default_collate, classes
        self._ids = np.arange(len(dataset)) if ids is None else ids
        self.side: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def batch(self, ids: Ids) -> Batch:
        rows = [self._dataset[int(row)] for row in self._ids[ids]]
        made = self._collate(rows)
        if isinstance(made, Mapping):
            inputs = dict(made)
            name = next((name for name in (self._label, "labels") if name in inputs), None)
            if name is None:
                raise RotaError(f"Expected a label '{self._label}' in a batch. Found {', '.join(inputs)}.")
            labels = inputs.pop(name)
        else:
            inputs, labels = made
        named = dict(inputs) if isinstance(inputs, Mapping) else {X: inputs}
        return Batch({n: v for n, v in named.items() if isinstance(v, Tensor)}, self._numbered(labels))

    def labels(self) -> Tensor:
        return self._numbered(self._all_labels)

    @cached_property
    def _all_labels(self) -> Any:
        return [labels_of(self._dataset, self._label)[int(row)] for row in self._ids]

    def _numbered(self, labels: Any) -> Tensor:
        if self._classes is not None and not isinstance(labels, Tensor):
            labels = [self._classes[label] for label in labels]
        found = torch.as_tensor(np.asarray(labels)) if not isinstance(labels, Tensor) else labels
        return found.float() if found.is_floating_point() else found.long()

    def lengths(self) -> Ids | None:
        return None

    def take(self, ids: Ids) -> DatasetRows:
        return DatasetRows(self._dataset, self._label, self._collate, self._classes, self._ids[ids])


def labels_of(dataset: Any, label: str) -> Sequence[Any]:
    """The label of every row."""
    if hasattr(dataset, "column_names"):
        if label not in dataset.column_names:
            raise RotaError(f"Expected a column '{label}' with the labels. Found {', '.join(dataset.column_names)}.")
        return list(dataset[label])
    targets = getattr(dataset, "targets", None)  # as the data sets of torchvision have it
    if targets is not None and len(targets) == len(dataset):
        return list(targets.tolist() if isinstance(targets, Tensor) else targets)
    return [_label(dataset[row], label) for row in range(len(dataset))]


def _label(row: Any, label: str) -> Any:
    if isinstance(row, Mapping):
        if label not in row:
            raise RotaError(f"Expected a label '{label}' in each row. Found {', '.join(map(str, row))}.")
        value = row[label]
    elif isinstance(row, Sequence) and len(row) == 2:
        value = row[1]
    else:
        raise RotaError(
            f"Expected rows that are mappings with a label, or pairs of input and label. Found {type(row).__name__}."
        )
    return value.item() if isinstance(value, Tensor | np.generic) and np.size(value) == 1 else value


def as_rows(dataset: Any, label: str, collate: Collate | None, classes: Mapping[Any, int] | None) -> Rows:
    """The rows of a data set of any form."""
    if isinstance(dataset, tuple) and len(dataset) == 2:
        inputs, labels = dataset
        named = dict(inputs) if isinstance(inputs, Mapping) else {X: inputs}
        tensors = {name: torch.as_tensor(np.asarray(values)) for name, values in named.items()}
        numbers = torch.as_tensor(np.asarray(labels))
        floats = {name: own.float() if own.is_floating_point() else own for name, own in tensors.items()}
        return TensorRows(floats, numbers.float() if numbers.is_floating_point() else numbers.long())
    return DatasetRows(dataset, label, collate, classes)


def class_numbers(dataset: Any, label: str) -> dict[Any, int] | None:
    """Numbers for labels that are words; None where they are numbers already. Refuse what is no data set."""
    if isinstance(dataset, tuple):
        return None
    if not (hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")):
        raise RotaError(
            f"Expected a data set with rows by number, or a pair of arrays (inputs, labels). Found a "
            f"{type(dataset).__name__}. A DataLoader has a data set inside: give its `dataset`."
        )
    if not len(dataset):
        raise RotaError("Expected a data set with rows. Found none.")
    found = labels_of(dataset, label)
    if not isinstance(found[0], str | bool):
        return None
    return {name: number for number, name in enumerate(sorted(set(found)))}


def inferred_kind(rows: Rows, classes: Mapping[Any, int] | None) -> Kind:
    """What sort of answer the labels of rows are: a class, or a number."""
    labels = rows.labels()
    if labels.dim() > 1:
        raise RotaError(
            f"Expected one label for each row. Found labels of shape {tuple(labels.shape[1:])}. Say of which kind the "
            f"task is: Task.from_dataset(…, kind=…)."
        )
    if labels.is_floating_point():
        return Regression(scale=float(labels.std()) or 1.0)
    if int(labels.min()) < 0 or (classes is None and int(labels.max()) >= max(SEVERAL, len(torch.unique(labels)))):
        raise RotaError(
            f"Expected classes from 0 on, or numbers with a fraction. Found whole numbers from {int(labels.min())} to "
            f"{int(labels.max())}. Say of which kind the task is: Task.from_dataset(…, kind=…)."
        )
    names = tuple(map(str, classes)) if classes else ()
    return Classification(max(2, int(labels.max()) + 1), names=names)


def held_out(rows: Rows) -> tuple[Rows, Rows]:
    """All but a tenth of the rows, and that tenth; always the same ones."""
    dev = sampled(max(1, round(DEV * len(rows))), len(rows))
    return rows.take(np.setdiff1d(np.arange(len(rows)), dev)), rows.take(dev)
