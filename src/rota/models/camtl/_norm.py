"""Conditional layer norm: each task scales and shifts what a pretrained layer norm makes of features."""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from rota.models.camtl._film import FiLM, of_rows


class ConditionalNorm(nn.Module):
    """A layer norm whose scale γ' and shift β' are those of a pretrained one, changed by the task:

        "code"   scale (1 + γ(z)) γ' + β(z),   shift β'          (the released code of CA-MTL)
        "full"   scale (1 + γ(z)) γ',          shift β' + β(z)   (what its text seems to mean)

    The pretrained layer norm stays where it is, and is handed in.
    """

    def __init__(self, tasks: int, width: int, form: Literal["code", "full"] = "code") -> None:
        super().__init__()
        self.form = form
        self.film = FiLM(tasks, width)

    def forward(self, x: Tensor, norm: nn.LayerNorm, z_T: Tensor, rows: Tensor | None) -> Tensor:
        gamma, beta = self.film(z_T)
        scale = (1 + gamma) * norm.weight
        scale, shift = (scale + beta, norm.bias) if self.form == "code" else (scale, norm.bias + beta)
        if rows is None:  # one task: the kernel of an ordinary layer norm
            return F.layer_norm(
                x, norm.normalized_shape, scale[0], shift if self.form == "code" else shift[0], norm.eps
            )
        shift = shift if self.form == "code" else of_rows(shift, rows)[:, None]
        return F.layer_norm(x, norm.normalized_shape, eps=norm.eps) * of_rows(scale, rows)[:, None] + shift
