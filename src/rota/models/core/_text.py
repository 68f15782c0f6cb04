"""A tiny text encoder that trains in seconds, for the generated texts of `toytext`."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from rota.models.core._features import Encoder, Features


class TinyText(Encoder):
    """Embeddings, one layer of attention, one of mixing; rows are the mean of their tokens.

    Padding never leaks: a row gives the same numbers whatever it is padded to.

    Args:
        vocabulary: Number of tokens; 0 is padding.
        longest: Most tokens in a row.
        width: Numbers per token.
        dropout: After each layer.

    >>> import torch
    >>> TinyText(vocabulary=50, longest=10, width=16)({"tokens": torch.tensor([[3, 7, 0]])}).tokens.shape
    torch.Size([1, 3, 16])
    """

    HEADS = 4

    def __init__(self, vocabulary: int, longest: int, width: int = 64, dropout: float = 0.1) -> None:
        super().__init__()
        self.width = width
        self._recipe = {"vocabulary": vocabulary, "longest": longest, "width": width, "dropout": dropout}
        self.words = nn.Embedding(vocabulary, width, padding_idx=0)
        self.places = nn.Embedding(longest, width)
        self.projection = nn.Linear(width, 3 * width)
        self.merge = nn.Linear(width, width)
        self.mix = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(3)])
        self.dropout = nn.Dropout(dropout)

    def describe(self) -> dict[str, Any]:
        return {"type": "TinyText", **self._recipe}

    def forward(self, inputs: dict[str, Tensor]) -> Features:
        tokens = inputs["tokens"]
        mask = tokens != 0
        n, length = tokens.shape
        h = self.norms[0](self.words(tokens) + self.places.weight[:length])
        q, k, v = self.projection(h).view(n, length, 3, self.HEADS, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
        h = self.norms[1](h + self.dropout(self.merge(attended.transpose(1, 2).reshape(n, length, -1))))
        h = self.norms[2](h + self.dropout(self.mix(h)))
        real = mask[..., None].to(h.dtype)
        return Features(rows=(h * real).sum(1) / real.sum(1), tokens=h, mask=mask)
