"""The forward pass of several encoders of one structure at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from torch import Tensor

from rota.models.core._conv import SmallConv
from rota.models.core._features import Encoder, Features
from rota.models.core._pretrained import Pretrained
from rota.models.core._stacked_layers import StackedConvolutions
from rota.models.core._stacked_text import StackedTexts, stacked_texts

Drop = Callable[[Tensor, float], Tensor]
"""Dropout of values [S, B, …] with a probability: every member has a generator of its own."""


class StackedEncoder(Protocol):
    """The forward pass of S encoders. What it says of a member does not depend on how many others there are.

    >>> import torch
    >>> forward = stacked(SmallConv(side=8, width=16))
    >>> weights = {name: own.expand(3, *own.shape) for name, own in SmallConv(side=8, width=16).named_parameters()}
    >>> forward(weights, {"image": torch.rand(3, 5, 1, 8, 8)}, drop=lambda values, share: values).rows.shape
    torch.Size([3, 5, 16])
    """

    def __call__(self, weights: Mapping[str, Tensor], inputs: dict[str, Tensor], drop: Drop) -> Features:
        """Features with the members first.

        Args:
            weights: By their names in the encoder, [S, …].
            inputs: [S, B, …].
            drop: Their dropout; where nothing is trained, it returns what it is given.
        """


def stacked(encoder: Encoder) -> StackedEncoder | StackedTexts | str:
    """The forward pass of several encoders like this one; a string says why there is none.

    >>> import torch
    >>> encoders = [SmallConv(side=8), SmallConv(side=8)]
    >>> forward = stacked(encoders[0])
    >>> names = dict(encoders[0].named_parameters())
    >>> weights = {name: torch.stack([encoder.get_parameter(name) for encoder in encoders]) for name in names}
    >>> inputs = {"image": torch.rand(2, 5, 1, 8, 8)}  # five pictures for each of the two
    >>> found = forward(weights, inputs, drop=lambda values, share: values).rows
    >>> bool(torch.allclose(found[1], encoders[1].eval()({"image": inputs["image"][1]}).rows, atol=1e-6))
    True
    """
    if type(encoder) is SmallConv:
        return StackedConvolutions(encoder.layers)
    if type(encoder) is Pretrained:
        return stacked_texts(encoder)
    return f"there is no stack of {type(encoder).__name__}"
