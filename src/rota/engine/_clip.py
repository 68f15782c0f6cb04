"""Gradients of several tasks, each clipped by itself.

In a step of one task the gradient is clipped, whatever its size, so that all tasks pull about equally hard. In a step
of several tasks only the sum is: the task with the largest gradient decides, and one with a small one is not heard.
"""

from __future__ import annotations

import warnings
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
        self._add([None if own is None else own[None] for own in found], torch.as_tensor(weight, device=loss.device))

    def add_all(self, losses: Tensor, weights: Tensor) -> None:
        """The same for losses of rows that went through the model together: one backward pass finds the gradients of
        all of them. It does as much work as one for each, in about as many kernels as one for their sum. Raises a
        RuntimeError, and adds nothing, where an operation cannot be batched."""
        each = torch.eye(len(losses), dtype=losses.dtype, device=losses.device)
        with warnings.catch_warnings():  # of operations that are done one after the other all the same
            warnings.filterwarnings("ignore", "There is a performance drop")
            found = torch.autograd.grad(
                losses, self._parameters, each, retain_graph=True, is_grads_batched=True, allow_unused=True
            )
        self._add(found, weights)

    def _add(self, gradients: Sequence[Tensor | None], weights: Tensor) -> None:
        """Of several losses: their number comes first in the shape of each gradient."""
        squares = [own.flatten(1).float().square().sum(1) for own in gradients if own is not None]
        norms = torch.stack(squares).sum(0).sqrt()
        factors = (self._largest / (norms + 1e-6)).clamp(max=1.0) * weights
        for number, own in enumerate(gradients):
            if own is not None:
                clipped, before = torch.tensordot(factors.to(own.dtype), own, dims=1), self._sum[number]
                self._sum[number] = clipped if before is None else before + clipped

    def give(self) -> None:
        """Make the sum the gradient of the parameters."""
        for parameter, own in zip(self._parameters, self._sum, strict=True):
            parameter.grad = own
