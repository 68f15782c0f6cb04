"""Where captured work finds its rows: on the device, or in a place to which each batch is copied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from rota.arrays import Ids
from rota.engine._shapes import padded_length
from rota.tasks import Batch, DeviceRows, Rows, SupportsDeviceRows

SHARE = 0.05
"""Share of the device's memory that rows may take."""


def room_on(device: torch.device) -> int:
    """Bytes of a GPU that rows may take."""
    return int(SHARE * torch.cuda.get_device_properties(device).total_memory)


class RowSource(Protocol):
    """The rows of one task for one captured piece of work."""

    def load(self, ids: Ids, fetch: Callable[[], Batch]) -> None:
        """Before the work: these rows are next. `fetch` makes a batch of those among them that count."""

    def take(self, ids: Tensor) -> Batch:
        """Inside of the work: the rows."""


class RowStore:
    """Keeps rows on the device as long as they fit.

    Args:
        device: Where.
        room: Bytes that rows may take in all.
    """

    def __init__(self, device: torch.device, room: int) -> None:
        self._device, self._room = device, room
        # With the rows: as long as they are here, nobody else gets their id.
        self._on_device: dict[int, tuple[Rows, DeviceRows | None]] = {}
        self._lengths: dict[int, tuple[Rows, tuple[Ids | None, int]]] = {}

    def source(self, rows: Rows, count: int, width: int | None) -> RowSource:
        """For work on `count` rows of this width at a time."""
        if id(rows) not in self._on_device:
            self._on_device[id(rows)] = rows, self._moved(rows)
        device_rows = self._on_device[id(rows)][1]
        return _Staged(rows, count, width, self._device) if device_rows is None else _Resident(device_rows, width)

    def width(self, chosen: Sequence[tuple[Rows, Ids]]) -> int | None:
        """The length to which these rows are padded together; None where they have none."""
        known = [(self._lengths_of(rows), ids) for rows, ids in chosen]
        found = [(int(lengths[ids].max()), longest) for (lengths, longest), ids in known if lengths is not None]
        return padded_length(*map(max, zip(*found, strict=True))) if found else None

    def _lengths_of(self, rows: Rows) -> tuple[Ids | None, int]:
        """The length of each row, and the largest of them."""
        if id(rows) not in self._lengths:
            lengths = rows.lengths()
            self._lengths[id(rows)] = rows, (lengths, 0 if lengths is None else int(lengths.max()))
        return self._lengths[id(rows)][1]

    def _moved(self, rows: Rows) -> DeviceRows | None:
        if not isinstance(rows, SupportsDeviceRows):
            return None
        device_rows = rows.device_rows()
        size = sum(tensor.nbytes for tensor in device_rows.tensors)
        if size > self._room:
            return None
        self._room -= size
        return device_rows.to(self._device)


class _Resident:
    """Rows that lie on the device and are taken there."""

    def __init__(self, device_rows: DeviceRows, width: int | None) -> None:
        self._device_rows, self._width = device_rows, width

    def load(self, ids: Ids, fetch: Callable[[], Batch]) -> None:
        """Nothing to do: their numbers are enough."""

    def take(self, ids: Tensor) -> Batch:
        return self._device_rows.take(ids, self._width)


class _Staged:
    """Rows that stay with the host. A batch is put together there, in pinned memory, and copied while the device is
    still busy with the work before."""

    def __init__(self, rows: Rows, count: int, width: int | None, device: torch.device) -> None:
        self._device_rows = rows.device_rows() if isinstance(rows, SupportsDeviceRows) else None
        self._count, self._width, self._device = count, width, device
        self._place: Batch | None = None

    def load(self, ids: Ids, fetch: Callable[[], Batch]) -> None:
        batch = fetch() if self._device_rows is None else self._device_rows.take(torch.from_numpy(ids), self._width)
        batch = _of_rows(batch, self._count)
        if self._place is None:
            self._place = batch.to(self._device)
        for name, place in self._place.inputs.items():
            place.copy_(_pinned(batch.inputs[name], self._device), non_blocking=True)
        self._place.labels.copy_(_pinned(batch.labels, self._device), non_blocking=True)

    def take(self, ids: Tensor) -> Batch:
        if self._place is None:  # a rehearsal, and so far the task had no rows in such a step: any will do
            assert self._device_rows is not None, "rows that cannot be moved are loaded before they are taken"
            self._place = self._device_rows.take(torch.zeros(self._count, dtype=torch.long), self._width).to(
                self._device
            )
        return self._place


def _of_rows(batch: Batch, count: int) -> Batch:
    """Filled up with the first row."""
    if len(batch) == count:
        return batch
    chosen = torch.from_numpy(np.concatenate([np.arange(len(batch)), np.zeros(count - len(batch), dtype=np.int64)]))
    return Batch({name: tensor[chosen] for name, tensor in batch.inputs.items()}, batch.labels[chosen])


def _pinned(tensor: Tensor, device: torch.device) -> Tensor:
    return tensor.pin_memory() if device.type == "cuda" else tensor
