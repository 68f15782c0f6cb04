"""Half-precision copies of the weights of linear layers, made at once."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class HalfWeights:
    """Autocast turns each weight into half precision by itself, and each of its gradients back: hundreds of small
    kernels. Here one kernel makes the copies for all linear layers and another one brings their gradients home.

    Weights that several modules share are left to autocast.

    Args:
        model: Whose layers.
        dtype: The half precision; None: nothing is copied.
        products: Whether biases get their gradients from products; for layers that are not compiled.
    """

    def __init__(self, model: nn.Module, dtype: torch.dtype | None, products: bool = True) -> None:
        self._device, self._dtype, self._products = next(model.parameters()).device, dtype, products
        uses = Counter(id(p) for module in model.modules() for p in module.parameters(recurse=False))
        self._layers = [
            module
            for module in model.modules()
            if dtype is not None
            and type(module) is nn.Linear
            and all(uses[id(p)] == 1 and p.dtype == torch.float32 for p in module.parameters())
        ]
        self._places = [(layer, name) for layer in self._layers for name, _ in layer.named_parameters()]
        originals = [layer.get_parameter(name) for layer, name in self._places]
        self._pairs = [(own, nn.Parameter(own.detach().to(dtype), own.requires_grad)) for own in originals]

    def autocast(self) -> AbstractContextManager[None]:
        """For all that is not a linear layer."""
        if self._dtype is None:
            return nullcontext()
        return torch.autocast(self._device.type, self._dtype)

    @contextmanager
    def used(self) -> Iterator[None]:
        """The model has the copies, fresh ones, instead of its weights."""
        if not self._pairs:
            yield
            return
        with torch.no_grad():
            torch._foreach_copy_([low for _, low in self._pairs], [own for own, _ in self._pairs])
        self._put([low for _, low in self._pairs])
        changed = self._layers if self._products else []
        for layer in changed:
            layer.forward = functools.partial(_through, layer)  # type: ignore[method-assign]
        try:
            yield
        finally:
            self._put([own for own, _ in self._pairs])
            for layer in changed:
                del layer.forward

    def bring_gradients(self) -> None:
        """Give the gradients of the copies to the weights."""
        found = [(own, low.grad) for own, low in self._pairs if low.grad is not None]
        if found:
            gradients = [torch.empty_like(own) for own, _ in found]
            torch._foreach_copy_(gradients, [gradient for _, gradient in found])
            for (own, _), gradient in zip(found, gradients, strict=True):
                own.grad = gradient
        for _, low in self._pairs:
            low.grad = None

    def _put(self, parameters: list[nn.Parameter]) -> None:
        for (layer, name), parameter in zip(self._places, parameters, strict=True):
            layer._parameters[name] = parameter


def _through(layer: nn.Linear, x: Tensor) -> Tensor:
    x = x.to(layer.weight.dtype)
    return F.linear(x, layer.weight) if layer.bias is None else _Linear.apply(x, layer.weight, layer.bias)


class _Linear(torch.autograd.Function):
    """A linear layer whose bias gets its gradient from a product with ones: for rows as short as those of small models
    that takes a third of the time of a sum."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        wanted_x, wanted_weight, wanted_bias = ctx.needs_input_grad
        flat = gradients[0].reshape(
            -1, len(weight)
        )  # `flatten` cannot be batched, which clipping of each task asks for
        return (
            (flat @ weight).view_as(x) if wanted_x else None,
            flat.t() @ x.flatten(0, -2) if wanted_weight else None,
            (flat.new_ones(1, len(flat)) @ flat)[0] if wanted_bias else None,
        )
