"""Steps with rows of several tasks in which every task pulls equally hard at what they share.

A batch of one task has its gradient clipped, whatever its size; in a batch of several tasks the sum is clipped, and the
task with the largest gradient decides. Here the gradients of the tasks are brought to one size where they enter the
encoder. To know them there, only the heads are passed twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from rota.errors import RotaError
from rota.models import Encoder, Features

MOST = 10.0
"""A task that has hardly anything left to learn is not made louder than so many times."""


@contextmanager
def watched(model: nn.Module) -> Iterator[list[Features]]:
    """Collects what the encoder hands to the heads, in each forward pass inside."""
    encoder = getattr(model, "encoder", None)
    if not isinstance(encoder, Encoder):
        raise RotaError(
            f"Balanced steps expect a model with an encoder and heads, such as MultiTaskModel. Found "
            f"{type(model).__name__}. Leave --balanced out."
        )
    seen: list[Features] = []

    def separated(_: nn.Module, __: Any, found: Features) -> Features:
        """Tensors of their own: one may be made of the other, and each is to be scaled once."""
        own = Features(*(None if tensor is None else tensor.view_as(tensor) for tensor in found))  # type: ignore[arg-type]
        seen.append(own)
        return own

    handle = encoder.register_forward_hook(separated)
    try:
        yield seen
    finally:
        handle.remove()


def squares(features: Features, loss: Tensor) -> Tensor:
    """The squared norm of the gradient of the loss at each row, [N]."""
    places = _places(features)
    gradients = torch.autograd.grad(loss, places, retain_graph=True, allow_unused=True) if places else ()
    found = [gradient.float().flatten(1).square().sum(1) for gradient in gradients if gradient is not None]
    return torch.stack(found).sum(0) if found else features.rows.new_zeros(len(features.rows), dtype=torch.float32)


def factors(norms_T: Tensor) -> Tensor:
    """What brings gradients to the geometric mean of their norms, up to `MOST`; 1 for those that are none. A norm
    counts as a hundredth of the largest at least, so that one that is nearly none does not quieten all others.

    >>> factors(torch.tensor([4.0, 1.0, 0.0])).tolist()
    [0.5, 2.0, 1.0]
    """
    present = norms_T > 0
    logs = torch.where(present, norms_T.clamp(min=norms_T.max() / 100), 1.0).log()
    mean = logs.sum() / present.sum().clamp(min=1)
    return torch.where(present, (mean - logs).exp().clamp(1 / MOST, MOST), 1.0)


def scale(features: Features, factor: Tensor) -> None:
    """Multiply the gradients that will pass: by one number, or by one for each row."""
    for place in _places(features):
        own = factor if factor.dim() == 0 else factor.view(-1, *[1] * (place.dim() - 1))
        place.register_hook(lambda gradient, own=own: gradient * own.to(gradient.dtype))


def _places(features: Features) -> list[Tensor]:
    return [place for place in (features.rows, features.tokens) if place is not None and place.requires_grad]
