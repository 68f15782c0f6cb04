"""A small convolutional encoder for pictures."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from rota.models.core._features import Encoder, Features


class SmallConv(Encoder):
    """Two convolutions with stride and a linear layer: enough for pictures of a dozen pixels.

    Args:
        side: Height and width of the pictures.
        width: Numbers per picture that the heads see.
        dropout: On those numbers.

    >>> import torch
    >>> SmallConv(side=8, width=16)({"image": torch.zeros(2, 1, 8, 8)}).rows.shape
    torch.Size([2, 16])
    """

    def __init__(self, side: int, width: int = 64, dropout: float = 0.1) -> None:
        super().__init__()
        self.width = width
        self._recipe = {"side": side, "width": width, "dropout": dropout}
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * ((side + 3) // 4) ** 2, width),
            nn.ReLU(),
            nn.Dropout(dropout),
        )

    def describe(self) -> dict[str, Any]:
        return {"type": "SmallConv", **self._recipe}

    def forward(self, inputs: dict[str, Tensor]) -> Features:
        return Features(rows=self.layers(inputs["image"]))
