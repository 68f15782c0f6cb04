"""Gradients of several tasks, each clipped by itself.

In a step of one task the gradient is clipped, whatever its size, so that all tasks pull about equally hard. In a step
of several tasks only the sum is: the task with the largest gradient decides, and one with a small one is not heard.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class ClippedSum:
    """Adds up the gradients of losses, each cut to the largest norm that is allowed.

    Args:
        parameters: Of which gradients are taken.
        largest: The norm.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], largest: float | None) -> None:
        assert largest is not None, "the settings see to it"
        self._parameters, self._largest = parameters, largest
        self._sum: list[Tensor | None] = [None] * len(parameters)

    def add(self, loss: Tensor, weight: float | Tensor, keep: bool = False) -> None:
        """Add the clipped gradient of a loss, times its weight; `keep` what the next loss shares with it."""
        found = torch.autograd.grad(loss, self._parameters, retain_graph=keep, allow_unused=True)
        norm = torch.stack([own.float().norm() for own in found if own is not None]).norm()
        factor = (self._largest / (norm + 1e-6)).clamp(max=1.0) * weight
        for number, own in enumerate(found):
            if own is not None:
                scaled, before = own * factor.to(own.dtype), self._sum[number]
                self._sum[number] = scaled if before is None else before + scaled

    def give(self) -> None:
        """Make the sum the gradient of the parameters."""
        for parameter, own in zip(self._parameters, self._sum, strict=True):
            parameter.grad = own
