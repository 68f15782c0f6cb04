"""What an encoder is, and what it hands to the heads."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn


class Features(NamedTuple):
    """One vector per row, and for texts one per token with the mask of the real ones.

    Shapes: `rows` [N, D], `tokens` [N, L, D], `mask` [N, L].
    """

    rows: Tensor
    tokens: Tensor | None = None
    mask: Tensor | None = None


class Encoder(nn.Module):
    """The part that all tasks share: turns named inputs into `Features` of `width` numbers."""

    width: int

    def forward(self, inputs: dict[str, Tensor]) -> Features:
        raise TypeError(f"{type(self).__name__} is an encoder without a forward pass")
