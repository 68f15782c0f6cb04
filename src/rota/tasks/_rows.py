"""Labelled rows, and batches of them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of one task: named input tensors and labels, all with the rows first."""

    inputs: dict[str, Tensor]
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device) -> Batch:
        inputs = {name: tensor.to(device, non_blocking=True) for name, tensor in self.inputs.items()}
        return Batch(inputs, self.labels.to(device, non_blocking=True))

    def split(self, parts: int) -> list[Batch]:
        """At most `parts` batches of nearly equal size that hold these rows in order; none is empty."""
        if parts == 1:
            return [self]
        bounds = np.linspace(0, len(self), min(parts, len(self)) + 1).astype(int)
        return [
            Batch({name: tensor[a:b] for name, tensor in self.inputs.items()}, self.labels[a:b])
            for a, b in itertools.pairwise(bounds)
        ]


class Rows(Protocol):
    """One split of a task's data: says how many rows it has and makes a batch of any of them."""

    def __len__(self) -> int: ...
    def batch(self, ids: Ids) -> Batch: ...
    def labels(self) -> Tensor: ...
    def first(self, count: int) -> Rows: ...


class TensorRows:
    """Rows in memory.

    Args:
        inputs: Named tensors with one entry per row.
        labels: One label (or vector of labels) per row.
        lengths: Where given, the used length of each row's inputs and labels along their last axis; a batch
            is cut to its longest row.
    """

    def __init__(self, inputs: dict[str, Tensor], labels: Tensor, lengths: Tensor | None = None) -> None:
        self._inputs, self._labels, self._lengths = inputs, labels, lengths

    def __len__(self) -> int:
        return len(self._labels)

    def batch(self, ids: Ids) -> Batch:
        chosen = torch.from_numpy(ids)
        inputs = {name: tensor[chosen] for name, tensor in self._inputs.items()}
        labels = self._labels[chosen]
        if self._lengths is not None:
            longest = int(self._lengths[chosen].max())
            width = next(iter(inputs.values())).shape[-1]
            inputs = {name: tensor[..., :longest] for name, tensor in inputs.items()}
            if labels.dim() > 1 and labels.shape[-1] == width:
                labels = labels[..., :longest]
        return Batch(inputs, labels)

    def labels(self) -> Tensor:
        return self._labels

    def first(self, count: int) -> TensorRows:
        """The first `count` rows."""
        inputs = {name: tensor[:count] for name, tensor in self._inputs.items()}
        return TensorRows(inputs, self._labels[:count], None if self._lengths is None else self._lengths[:count])
