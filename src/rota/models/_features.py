"""What an encoder hands to the heads."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Features(NamedTuple):
    """One vector per row, and for texts one per token with the mask of the real ones.

    Shapes: `rows` [N, D], `tokens` [N, L, D], `mask` [N, L].
    """

    rows: Tensor
    tokens: Tensor | None = None
    mask: Tensor | None = None
