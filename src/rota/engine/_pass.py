"""A forward pass at fixed places in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from rota.arrays import Ids
from rota.engine._row_store import RowSource
from rota.engine._shapes import Shape
from rota.engine._step import at_least_float
from rota.tasks import Batch, Kind

PassRows = tuple[str, Ids, float, Callable[[], Batch]]
"""A task's rows in a pass: its name, their numbers, their weight in the loss, and what fetches them."""


class Pass:
    """Some rows of one task, or of any of several, on their way through the model.

    All that differs from one pass to the next is written into one small tensor: numbers of the rows, whose they are
    (-1: nobody's, the row fills the batch up), rows and weight of each task, and the learning rate.

    Args:
        shape: What it is made for.
        kinds: Of the tasks.
        sources: Where their rows come from.
        device: Where the pass takes place.
    """

    def __init__(
        self, shape: Shape, kinds: Mapping[str, Kind], sources: Mapping[str, RowSource], device: torch.device
    ) -> None:
        self.shape, self._kinds, self._sources = shape, kinds, sources
        self._sizes = [shape.rows, shape.rows, len(shape.tasks), len(shape.tasks), 1]
        self._control = torch.zeros(sum(self._sizes), dtype=torch.float64, device=device)

    def load(self, shares: Sequence[PassRows], rate: float = 0.0) -> None:
        """Before the work: write down what is different this time."""
        written = np.zeros(sum(self._sizes))
        ids, owners, counts, weights, rates = np.split(written, np.cumsum(self._sizes)[:-1])
        owners.fill(-1)
        place = 0
        for task, own, weight, fetch in shares:
            k, here = self.shape.tasks.index(task), slice(place, place + len(own))
            ids[here], owners[here] = own, k
            counts[k], weights[k] = len(own), weight
            self._sources[task].load(np.where(owners == k, ids, 0).astype(np.int64), fetch)
            place += len(own)
        rates[0] = rate
        host = torch.from_numpy(written)
        self._control.copy_(host.pin_memory() if self._control.is_cuda else host, non_blocking=True)

    # Inside of the work.

    @property
    def counts(self) -> Tensor:
        """Rows of each task."""
        return self._control.split(self._sizes)[2].float()

    @property
    def weights(self) -> Tensor:
        return self._control.split(self._sizes)[3].float()

    @property
    def rate(self) -> Tensor:
        return self._control[-1].float()

    def batches(self) -> tuple[dict[str, Tensor], list[Batch]]:
        """The inputs of all rows, and a batch of each task in which other tasks' rows have the label 0."""
        ids, owners = self._control.split(self._sizes)[:2]
        inputs: dict[str, Tensor] = {}
        batches = []
        for k, task in enumerate(self.shape.tasks):
            own = owners == k
            batch = self._sources[task].take(torch.where(own, ids, 0).long())
            for name, tensor in batch.inputs.items():
                inputs[name] = torch.where(_like(own, tensor), tensor, inputs[name]) if name in inputs else tensor
            batches.append(Batch(batch.inputs, batch.labels.masked_fill(~_like(own, batch.labels), 0)))
        return inputs, batches

    @property
    def _owners(self) -> Tensor:
        return self._control.split(self._sizes)[1]

    def means(self, answer: Callable[[dict[str, Tensor], Tensor], Mapping[str, Tensor]]) -> Tensor:
        """The mean loss of each task, 0 for those without rows."""
        owners, counts = self._owners, self.counts.clamp(min=1)
        inputs, batches = self.batches()
        outputs, sums = answer(inputs, owners), []
        for k, task in enumerate(self.shape.tasks):
            losses = self._kinds[task].losses(at_least_float(outputs[task]), batches[k].labels)
            sums.append(torch.where(owners == k, losses, 0.0).sum())
        return torch.stack(sums) / counts


def _like(flags: Tensor, tensor: Tensor) -> Tensor:
    """One flag per row, in a shape that fits the tensor."""
    return flags.view(-1, *[1] * (tensor.dim() - 1))
