"""Conditional bottleneck: a narrow passage that each task modulates."""

from __future__ import annotations

from torch import Tensor, nn

from rota.models.camtl._film import DEVIATION, FiLM, modulated, of_tokens


class Bottleneck(nn.Module):
    """z' = W z;  FiLM by z', down to a third of the width, up again. No non-linearity, as in the released code of
    CA-MTL, unless one is asked for.

    Args:
        width: Of the features and of a task's vector.
        relu: Whether the narrow part has a ReLU.
    """

    def __init__(self, width: int, relu: bool = False) -> None:
        super().__init__()
        self.task = nn.Linear(width, width)
        self.film = FiLM(width, width)
        self.down = nn.Linear(width, width // 3)
        self.narrow = nn.ReLU() if relu else nn.Identity()
        self.up = nn.Linear(width // 3, width)
        for layer in (self.task, self.down, self.up):
            nn.init.normal_(layer.weight, std=DEVIATION)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor, z_T: Tensor, rows: Tensor | None) -> Tensor:
        modulation = of_tokens(self.film(self.task(z_T)), rows)
        return self.up(self.narrow(self.down(modulated(x, modulation))))
