"""Labelled rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rota.arrays import Ids
from rota.seeds import generator
from rota.tasks._batch import Batch
from rota.tasks._device_rows import TensorDeviceRows


class Rows(Protocol):
    """One split of a task's data: says how many rows it has and makes a batch of any of them.

    >>> from rota.tasks import TensorRows
    >>> rows: Rows = TensorRows({"x": torch.arange(6.0).view(3, 2)}, torch.tensor([0, 1, 1]))
    >>> len(rows), rows.labels().tolist(), rows.take(np.array([0, 2])).labels().tolist()
    (3, [0, 1, 1], [0, 1])
    """

    @property
    def side(self) -> Mapping[str, Any]:
        """What metrics know of the rows beside their labels: groups, parts, passages."""

    def __len__(self) -> int: ...
    def batch(self, ids: Ids) -> Batch: ...
    def labels(self) -> Tensor: ...
    def lengths(self) -> Ids | None:
        """The length of each row, where rows have one: equal lengths waste no padding."""

    def take(self, ids: Ids) -> Rows:
        """Some of the rows."""


def sample_rows(rows: Rows, count: int) -> Rows:
    """About `count` rows, always the same ones; rows that belong together stay together.

    >>> from rota.tasks import TensorRows
    >>> len(sample_rows(TensorRows({"x": torch.zeros(100)}, torch.zeros(100)), 10))
    10
    """
    return rows.take(_sampled_whole(rows, count))


def cut_rows(rows: Rows, share: float) -> tuple[Rows, Rows]:
    """The rows without a share of them, and that share, always the same ones; rows that belong together stay together.

    >>> from rota.tasks import TensorRows
    >>> [len(part) for part in cut_rows(TensorRows({"x": torch.zeros(50)}, torch.zeros(50)), 0.1)]
    [45, 5]
    """
    cut = _sampled_whole(rows, max(1, round(share * len(rows))))
    return rows.take(np.setdiff1d(np.arange(len(rows)), cut)), rows.take(cut)


def halve_rows(rows: Rows) -> tuple[Rows, Rows]:
    """Two halves of the rows, always the same ones; rows that belong together stay together.

    >>> from rota.tasks import TensorRows
    >>> [len(half) for half in halve_rows(TensorRows({"x": torch.zeros(5)}, torch.zeros(5)))]
    [3, 2]
    """
    first = _sampled_whole(rows, (len(rows) + 1) // 2)
    return rows.take(first), rows.take(np.setdiff1d(np.arange(len(rows)), first))


def _sampled_whole(rows: Rows, count: int) -> Ids:
    """As `sampled`; where rows belong to questions or groups, as many whole ones as hold about `count` rows."""
    owners = rows.side.get("question", rows.side.get("group"))
    if owners is None:
        return sampled(count, len(rows))
    groups, inverse, sizes = np.unique(owners, return_inverse=True, return_counts=True)
    number = max(1, round(count / sizes.mean())) if count else 0
    return np.flatnonzero(np.isin(inverse, sampled(number, len(groups))))


def sampled(count: int, of: int) -> Ids:
    """`count` numbers below `of` at random, always the same ones, in order.

    >>> sampled(3, of=3).tolist(), len(sampled(2, of=10))
    ([0, 1, 2], 2)
    """
    return np.sort(generator(0, "sample").permutation(of)[:count])


class TensorRows:
    """Rows in memory.

    Args:
        inputs: Named tensors with one entry per row.
        labels: One label (or vector of labels) per row.
        lengths: Where given, the used length of each row's inputs and labels along their last axis; a batch
            is cut to its longest row.
        side: What metrics know of the rows beside their labels, one entry per row.

    >>> rows = TensorRows({"x": torch.arange(6.0).view(3, 2)}, torch.tensor([0, 1, 1]))
    >>> len(rows), rows.batch(np.array([2, 0])).inputs["x"].tolist()
    (3, [[4.0, 5.0], [0.0, 1.0]])
    """

    def __init__(
        self,
        inputs: dict[str, Tensor],
        labels: Tensor,
        lengths: Tensor | None = None,
        side: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self._inputs, self._labels, self._lengths, self.side = inputs, labels, lengths, side or {}
        self._device_rows = TensorDeviceRows(inputs, labels, lengths)

    def __len__(self) -> int:
        return len(self._labels)

    def batch(self, ids: Ids) -> Batch:
        return self._device_rows.take(torch.from_numpy(ids))

    def device_rows(self) -> TensorDeviceRows:
        return self._device_rows

    def labels(self) -> Tensor:
        return self._labels

    def lengths(self) -> Ids | None:
        return None if self._lengths is None else self._lengths.numpy()

    def take(self, ids: Ids) -> TensorRows:
        chosen = torch.from_numpy(ids)
        inputs = {name: tensor[chosen] for name, tensor in self._inputs.items()}
        lengths = None if self._lengths is None else self._lengths[chosen]
        side = {name: array[ids] for name, array in self.side.items()}
        return TensorRows(inputs, self._labels[chosen], lengths, side)
