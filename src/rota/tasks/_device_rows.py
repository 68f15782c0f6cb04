"""Rows that lie in the memory of a device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from torch import Tensor

from rota.tasks._batch import Batch
from rota.tasks._kind import IGNORED


class DeviceRows(Protocol):
    """Rows as tensors on one device, from which any of them can be taken without leaving it.

    >>> from rota.tasks import TensorRows
    >>> rows = TensorRows({"x": torch.arange(4.0)}, torch.arange(4)).device_rows().to(torch.device("cpu"))
    >>> rows.take(torch.tensor([3, 1])).labels
    tensor([3, 1])
    """

    @property
    def tensors(self) -> Sequence[Tensor]:
        """All that lies on it."""

    def to(self, device: torch.device) -> DeviceRows: ...
    def take(self, ids: Tensor, width: int | None = None) -> Batch:
        """Some rows. Where rows have lengths they are filled up to `width`, by default that of the longest one (which a
        GPU must be asked for)."""


@runtime_checkable
class SupportsDeviceRows(Protocol):
    """Rows that can be moved to a device as a whole. A user's rows need not: then batches are moved.

    >>> from rota.tasks import TensorRows
    >>> isinstance(TensorRows({"x": torch.zeros(2)}, torch.zeros(2)), SupportsDeviceRows)
    True
    """

    def device_rows(self) -> DeviceRows: ...


@dataclass(frozen=True)
class TensorDeviceRows:
    """Rows in the memory of one device; see `TensorRows`. A row is filled up with zeros, its labels with `IGNORED`."""

    inputs: Mapping[str, Tensor]
    labels: Tensor
    lengths: Tensor | None = None

    @property
    def tensors(self) -> list[Tensor]:
        return [*self.inputs.values(), self.labels] + ([] if self.lengths is None else [self.lengths])

    def to(self, device: torch.device) -> TensorDeviceRows:
        inputs = {name: tensor.to(device) for name, tensor in self.inputs.items()}
        return TensorDeviceRows(
            inputs, self.labels.to(device), None if self.lengths is None else self.lengths.to(device)
        )

    def take(self, ids: Tensor, width: int | None = None) -> Batch:
        inputs = {name: tensor[ids] for name, tensor in self.inputs.items()}
        labels = self.labels[ids]
        if self.lengths is None:
            return Batch(inputs, labels)
        if width is None:
            width = int(self.lengths[ids].max())
        if labels.dim() > 1 and labels.shape[-1] == next(iter(inputs.values())).shape[-1]:
            labels = _of_width(labels, width, IGNORED)
        return Batch({name: _of_width(tensor, width, 0) for name, tensor in inputs.items()}, labels)


def _of_width(tensor: Tensor, width: int, fill: int) -> Tensor:
    """Cut or filled up along the last axis."""
    missing = width - tensor.shape[-1]
    return F.pad(tensor, (0, missing), value=fill) if missing > 0 else tensor[..., :width]
