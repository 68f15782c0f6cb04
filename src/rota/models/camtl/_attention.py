"""Conditional attention: each task adds a bias of its own to the attention scores."""

from __future__ import annotations

import math
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rota.models.camtl._film import DEVIATION, FiLM, modulated


class BlockBias(nn.Module):
    """M(z), a block-diagonal matrix that is added to the scores of one layer's attention, for all of its heads:

        softmax(M(z) + QKᵀ/√d) V,   M(z) = ⊕ₙ A'ₙ,   A'ₙ = (1 + γ(z)) ⊙ Aₙ + β(z)

    Outside of its blocks M is zero: tokens far apart see each other as before. It is a local bias, not a mask.

    Args:
        tasks: Numbers in the vector of a task.
        longest: Tokens L for which there are biases; tokens beyond get none.
        blocks: N of them, of side ceil(L/N); 1 makes one full matrix.
        entries: γ and β for each column of a block, as in the released code, or for each entry, as printed.
        first: What A begins with.

    Reference: CA-MTL, section 2.1 and its released code. Shorter rows get the upper left part of M, so that padding
    need not be the same everywhere.
    """

    def __init__(
        self,
        tasks: int,
        longest: int,
        blocks: int,
        entries: Literal["column", "full"] = "column",
        first: Literal["zeros", "normal"] = "zeros",
    ) -> None:
        super().__init__()
        self.blocks, self.side, self.entries = blocks, math.ceil(longest / blocks), entries
        self.matrix = nn.Parameter(torch.zeros(longest, self.side))
        if first == "normal":
            nn.init.normal_(self.matrix, std=DEVIATION)
        self.film = FiLM(tasks, self.side if entries == "column" else self.side**2)

    def forward(self, z_T: Tensor, length: int) -> Tensor:
        """M of each task for rows of this length, [T, length, length]."""
        side, longest = self.side, len(self.matrix)
        used = min(self.blocks, math.ceil(min(length, longest) / side))
        rows = F.pad(self.matrix[: used * side], (0, 0, 0, max(0, used * side - longest)))
        modulation = self.film(z_T)
        if self.entries == "column":
            blocks = modulated(
                rows.view(1, used, side, side), type(modulation)(*(v[:, None, None] for v in modulation))
            )
        else:
            shaped = type(modulation)(*(values.view(-1, 1, side, side) for values in modulation))
            blocks = modulated(rows.view(1, used, side, side), shaped)
        diagonal = torch.eye(used, dtype=blocks.dtype, device=blocks.device)
        whole = blocks[:, :, :, None, :] * diagonal[None, :, None, :, None]
        bias = whole.reshape(-1, used * side, used * side)[:, :longest, :longest][:, :length, :length]
        missing = length - bias.shape[-1]
        return F.pad(bias, (0, missing, 0, missing)) if missing else bias
