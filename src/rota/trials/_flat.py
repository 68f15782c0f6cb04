"""Parameters as one long vector."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Flat:
    """Reads parameters, or their gradients, into vectors, and writes vectors back; there may be none of them."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self._parameters = list(parameters)
        self._sizes = [parameter.numel() for parameter in self._parameters]
        self.size = sum(self._sizes)

    @torch.no_grad()
    def read(self, into: Tensor) -> None:
        for part, parameter in zip(torch.split(into, self._sizes), self._parameters, strict=True):
            part.view(parameter.shape).copy_(parameter)

    @torch.no_grad()
    def write(self, vector: Tensor) -> None:
        for part, parameter in zip(torch.split(vector, self._sizes), self._parameters, strict=True):
            parameter.copy_(part.view(parameter.shape))

    @torch.no_grad()
    def read_gradient(self, into: Tensor) -> None:
        """Parameters without a gradient have none of it: a head of another task, say."""
        for part, parameter in zip(torch.split(into, self._sizes), self._parameters, strict=True):
            if parameter.grad is None:
                part.zero_()
            else:
                part.view(parameter.shape).copy_(parameter.grad)
