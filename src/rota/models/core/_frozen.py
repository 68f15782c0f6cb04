"""What frozen layers say of a row never changes: it is computed once and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rota.arrays import Ids
from rota.models.core._modes import evaluating
from rota.models.core._pretrained import Pretrained
from rota.tasks import Batch, Rows, Task

TOGETHER, WINDOW = 8, 32
"""Rows that are read together, and rows that come together, among which those of similar length are."""


class FrozenRows:
    """Rows whose batches bring along what the frozen layers of an encoder say of them, as the input `hidden`.

    Rows are read in fixed groups when one of them is first needed. Which groups are kept is decided beforehand; the
    others are computed each time. So a run that is resumed finds the same numbers, to the bit.

    Args:
        rows: The rows.
        encoder: Whose frozen layers; see `Pretrained.lower`.
        room: Bytes that may be kept.
        order: In which rows are needed at first, so that a short run reads no others; by default by their lengths.
    """

    def __init__(self, rows: Rows, encoder: Pretrained, room: int, order: Ids | None = None) -> None:
        lengths = rows.lengths()
        assert lengths is not None, "texts have lengths"
        self._rows, self._encoder, self._lengths = rows, encoder, lengths
        order = np.argsort(lengths, kind="stable") if order is None else _alike(order, lengths)
        self._groups = [order[start : start + TOGETHER] for start in range(0, len(order), TOGETHER)]
        self._group, self._place = np.empty(len(order), dtype=np.int64), np.empty(len(order), dtype=np.int64)
        for number, group in enumerate(self._groups):
            self._group[group], self._place[group] = number, np.arange(len(group))
        sizes = [len(group) * int(lengths[group].max()) * encoder.width * 4 for group in self._groups]
        self._fitting = int(np.searchsorted(np.cumsum(sizes), room, side="right"))
        self.nbytes = sum(sizes[: self._fitting])
        """Bytes that are kept, when all of them are."""
        self._kept: dict[int, Tensor] = {}

    @property
    def side(self) -> Mapping[str, Any]:
        return self._rows.side

    def __len__(self) -> int:
        return len(self._rows)

    def labels(self) -> Tensor:
        return self._rows.labels()

    def lengths(self) -> Ids | None:
        return self._lengths

    def take(self, ids: Ids) -> FrozenRows:
        return FrozenRows(self._rows.take(ids), self._encoder, self.nbytes)

    def batch(self, ids: Ids) -> Batch:
        batch = self._rows.batch(ids)
        width = batch.inputs["mask"].shape[-1]
        hidden = torch.zeros(len(ids), width, self._encoder.width)
        kept = self._group[ids] < self._fitting
        for number, row in enumerate(ids):
            if kept[number]:
                found = self._read(int(self._group[row]))[self._place[row]][:width]
                hidden[number, : len(found)] = found
        if not kept.all():
            others = np.flatnonzero(~kept)
            found = self._lower(self._rows.batch(ids[others]))
            hidden[torch.from_numpy(others), : found.shape[1]] = found
        return Batch({**batch.inputs, "hidden": hidden}, batch.labels)

    def _read(self, group: int) -> Tensor:
        if group not in self._kept:
            self._kept[group] = self._lower(self._rows.batch(self._groups[group]))
        return self._kept[group]

    def _lower(self, batch: Batch) -> Tensor:
        device = next(self._encoder.parameters()).device
        # In full precision, whoever asks: what is kept must not depend on that.
        with evaluating(self._encoder), torch.autocast(device.type, enabled=False):
            return self._encoder.lower(batch.to(device).inputs).cpu()


def _alike(order: Ids, lengths: Ids) -> Ids:
    """The same order, but that rows of similar length come together."""
    windows = [order[start : start + WINDOW] for start in range(0, len(order), WINDOW)]
    return np.concatenate([window[np.argsort(lengths[window], kind="stable")] for window in windows])


def with_frozen_rows(
    tasks: Sequence[Task], encoder: Pretrained, room: int, orders: Mapping[str, Ids] | None = None
) -> list[Task]:
    """The same tasks with rows that bring along what the frozen layers say of them, small splits first.

    Args:
        tasks: Those with several texts per row are left as they are.
        encoder: Its frozen layers must be `separable`.
        room: Bytes that may be kept in all.
        orders: In which the training rows of tasks are needed at first.

    >>> from rota.models.core import rebuilt
    >>> from rota.tasks import Classification, TensorRows
    >>> tiny = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    >>> encoder = rebuilt({"model_type": "bert", **tiny}, pooling="first", pooler=False, hidden=None, frozen=1)
    >>> tokens = torch.tensor([[3, 7, 9], [4, 8, 0]])
    >>> inputs = {"tokens": tokens, "types": tokens * 0, "mask": tokens > 0}
    >>> rows = TensorRows(inputs, torch.tensor([0, 1]), lengths=torch.tensor([3, 2]))
    >>> [task] = with_frozen_rows([Task("rte", Classification(2), {"train": rows})], encoder, room=2**20)
    >>> task.splits["train"].batch(np.array([1])).inputs["hidden"].shape
    torch.Size([1, 2, 16])
    """
    able = [task for task in tasks if task.kind.sees != "choices"]
    splits = [(len(rows), task.name, split) for task in able for split, rows in task.splits.items()]
    made: dict[tuple[str, str], Rows] = {}
    found = {task.name: task for task in tasks}
    for _, name, split in sorted(splits):
        order = (orders or {}).get(name) if split == "train" else None
        rows = FrozenRows(found[name].splits[split], encoder, room, order)
        made[name, split] = rows
        room -= rows.nbytes
    return [
        replace(task, splits={split: made.get((task.name, split), rows) for split, rows in task.splits.items()})
        for task in tasks
    ]
