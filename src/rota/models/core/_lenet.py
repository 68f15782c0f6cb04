"""The small convolutional network that αVIL trains on MultiMNIST."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from rota.errors import RotaError
from rota.models.core._features import Encoder, Features


class LeNet(Encoder):
    """The shared part of the network of αVIL for pictures of 28 x 28: two convolutions of 5 x 5 with 10 and 20 filters,
    each followed by a 2 x 2 max-pool, and a linear layer from 320 to 50 numbers.

    Sides shrink as 28 → 24 → 12 → 8 → 4, so 20 · 4 · 4 = 320 numbers reach the linear layer. Heads of 50 → 10 belong to
    the `MultiTaskModel`.

    Args:
        dropout: On the 50 numbers. The paper uses none.

    >>> sum(parameter.numel() for parameter in LeNet().parameters())
    21330

    Reference: Kourdis, Gordon-Hall & Gorinski, "αVIL: Learning to Leverage Auxiliary Tasks for Multitask Learning",
    section 4.1 and figure 2, after the network of Sener & Koltun (2018).

    Where this differs from the paper: it does not say where its ReLUs are. Here one follows each pool and the linear
    layer, as in the network that it was derived from.
    """

    SIDE = 28

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.width = 50
        self._recipe = {"dropout": dropout}
        self.layers = nn.Sequential(
            nn.Conv2d(1, 10, 5),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Conv2d(10, 20, 5),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(320, self.width),
            nn.ReLU(),
            nn.Dropout(dropout),
        )

    def describe(self) -> dict[str, Any]:
        return {"type": "LeNet", **self._recipe}

    def forward(self, inputs: dict[str, Tensor]) -> Features:
        image = inputs["image"]
        if image.shape[1:] != (1, self.SIDE, self.SIDE):
            raise RotaError(
                f"LeNet expects pictures of shape [N, 1, {self.SIDE}, {self.SIDE}]. Found {list(image.shape)}. "
                f"Use SmallConv for pictures of other sizes."
            )
        return Features(rows=self.layers(image))
