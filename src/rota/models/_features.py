"""What an encoder is, and what it hands to the heads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor, nn


class Features(NamedTuple):
    """One vector per row, and for texts one per token with the mask of the real ones.

    Shapes: `rows` [N, D], `tokens` [N, L, D], `mask` [N, L].
    """

    rows: Tensor
    tokens: Tensor | None = None
    mask: Tensor | None = None


@dataclass(frozen=True)
class HeadStyle:
    """What heads are made of.

    Args:
        dropout: On what the head sees.
        hidden: Numbers of a layer with ReLU in between; None for a linear head.
        deviation: Standard deviation of the first weights, with biases at zero; None for torch's own way.
    """

    dropout: float = 0.0
    hidden: int | None = None
    deviation: float | None = None


class Encoder(nn.Module):
    """The part that all tasks share: turns named inputs into `Features` of `width` numbers."""

    width: int

    @property
    def style(self) -> HeadStyle:
        """The heads that suit it."""
        return HeadStyle()

    def describe(self) -> dict[str, Any]:
        """Plain JSON from which `build_encoder` makes it again, without its weights."""
        raise TypeError(f"{type(self).__name__} is an encoder that cannot be described")

    def forward(self, inputs: dict[str, Tensor]) -> Features:
        raise TypeError(f"{type(self).__name__} is an encoder without a forward pass")
