"""Layers of small picture models, for several members at once.

Every product is one batched product over the members, and a convolution is the product of patches and filters: grouped
convolutions round differently for different numbers of members, batched products do not. The gradients are written out
because they are where the time goes: what autograd does with views of views costs as much as the products.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from rota.models.core._features import Features

LayerContext = Any
"""Where autograd keeps what a gradient needs."""


class StackedConvolutions:
    """Convolutions with ReLUs, then linear layers with ReLUs, then dropout, for pictures of several members.

    Pictures are laid out as [S, B, H, W, C], so that a patch is copied in whole rows.

    Args:
        layers: Of one of them, for their shapes.
    """

    def __init__(self, layers: nn.Sequential) -> None:
        self._layers = list(enumerate(layers))

    def __call__(
        self, weights: Mapping[str, Tensor], inputs: dict[str, Tensor], drop: Callable[[Tensor, float], Tensor]
    ) -> Features:
        values = inputs["image"].movedim(2, -1)
        for number, layer in self._layers:
            match layer:
                case nn.Conv2d():
                    shape = layer.kernel_size[0], layer.stride[0], layer.padding[0]
                    values = _ConvolutionReLU.apply(values, *_parameters(weights, number), *shape)
                case nn.Linear():
                    values = _LinearReLU.apply(values, *_parameters(weights, number))
                case nn.Flatten():
                    values = values.movedim(-1, 2).flatten(2)
                case nn.Dropout():
                    values = drop(values, layer.p)
                case _:
                    assert isinstance(layer, nn.ReLU), "it is part of the layer before it"
        return Features(values)


def _parameters(weights: Mapping[str, Tensor], number: int) -> tuple[Tensor, Tensor]:
    return weights[f"layers.{number}.weight"], weights[f"layers.{number}.bias"]


class _ConvolutionReLU(torch.autograd.Function):
    """A convolution and a ReLU: [S, B, H, W, C] → [S, B, rows, columns, O]."""

    @staticmethod
    def forward(
        saved: LayerContext, pictures: Tensor, weight: Tensor, bias: Tensor, side: int, step: int, rim: int
    ) -> Tensor:
        members, batch, height, width, channels = pictures.shape
        padded = pictures
        if rim:
            padded = pictures.new_zeros((members, batch, height + 2 * rim, width + 2 * rim, channels))
            padded[:, :, rim : rim + height, rim : rim + width] = pictures
        windows = padded.unfold(2, side, step).unfold(3, side, step).movedim(4, -1)
        places = windows.shape[1:4]
        patches = windows.reshape(members, places.numel(), -1)
        filters = weight.permute(0, 3, 4, 2, 1).flatten(1, 3)  # as a patch is laid out
        found = torch.baddbmm(bias[:, None], patches, filters).relu_()
        saved.save_for_backward(patches, filters, found)
        saved.shapes = windows.shape, padded.shape, weight.shape, step, rim
        return found.unflatten(1, places)

    @staticmethod
    def backward(saved: LayerContext, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        patches, filters, found = saved.saved_tensors
        windows, padded, weights, step, rim = saved.shapes
        own = torch.ops.aten.threshold_backward(gradients[0].reshape(found.shape), found, 0)
        inside = torch.bmm(patches.transpose(1, 2), own).unflatten(1, (weights[3], weights[4], weights[2]))
        weight, bias = inside.permute(0, 4, 3, 1, 2), own.sum(1)
        if not saved.needs_input_grad[0]:
            return None, weight, bias, None, None, None
        seen = torch.bmm(own, filters.transpose(1, 2)).view(windows)
        pictures = own.new_zeros(padded)
        for y in range(windows[4]):
            for x in range(windows[5]):
                rows, columns = slice(y, y + step * windows[2], step), slice(x, x + step * windows[3], step)
                pictures[:, :, rows, columns] += seen[:, :, :, :, y, x]
        whole = pictures[:, :, rim : padded[2] - rim, rim : padded[3] - rim]
        return whole, weight, bias, None, None, None


class _LinearReLU(torch.autograd.Function):
    """A linear layer and a ReLU: [S, B, I] → [S, B, O]."""

    @staticmethod
    def forward(saved: LayerContext, values: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        found = torch.baddbmm(bias[:, None], values, weight.transpose(1, 2)).relu_()
        saved.save_for_backward(values, weight, found)
        return found

    @staticmethod
    def backward(saved: LayerContext, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        values, weight, found = saved.saved_tensors
        own = torch.ops.aten.threshold_backward(gradients[0], found, 0)
        return torch.bmm(own, weight), torch.bmm(own.transpose(1, 2), values), own.sum(1)
