"""Some rows of one task."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of one task: named input tensors and labels, all with the rows first.

    >>> batch = Batch({"x": torch.zeros(5, 2)}, torch.arange(5))
    >>> [len(part.labels) for part in batch.split(2)]
    [2, 3]
    """

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


def repeated(tensor: Tensor, copies: int) -> Tensor:
    """The rows repeated, one copy after the other.

    >>> repeated(torch.tensor([1, 2]), copies=2)
    tensor([1, 2, 1, 2])
    """
    return tensor.repeat(copies, *[1] * (tensor.dim() - 1))
