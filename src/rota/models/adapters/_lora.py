"""LoRA (Hu et al., 2022) with a low-rank change of chosen matrices for each task."""

from __future__ import annotations

import functools
from typing import Any, ClassVar

from pydantic import Field
from torch import Tensor, nn

from rota.errors import RotaError
from rota.models.adapters._adapter import Adapter
from rota.models.adapters._attached import DEVIATION, Attached, NowRead

CALLED = {
    "query": ("query", "query_proj", "q_lin", "q"),
    "key": ("key", "key_proj", "k_lin", "k"),
    "value": ("value", "value_proj", "v_lin", "v"),
}
"""What encoders call the matrices of their attention."""


class LoRA(Adapter):
    """A task adds a product of two thin matrices to some linear layers of the encoder:

        W h + (α / r) B A h,   B = 0 at first

    The encoder is frozen. A and B and the heads are trained. A task has r (in + out) parameters for each of these
    layers, so 4 n d r for query and value in n layers of width d.

    Args:
        r: The rank.
        alpha: α.
        on: Which linear layers of each layer, with + in between: `query`, `key`, `value`, or any by the last part of
            their name in the encoder, such as `dense` in BERT or `Wqkv` in ModernBERT.

    Reference: Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models" (2022).

    Where this differs from its released code: A begins with a normal distribution of deviation 0.02 (the paper says
    Gaussian, the code is uniform), and there is no dropout before A. Where DeBERTa reads its relative positions with
    the same matrices, these remain the plain ones.

    >>> str(LoRA(r=4))
    'lora:r=4,alpha=16.0,on=query+value'
    """

    name: ClassVar[str] = "lora"

    r: int = Field(8, ge=1, description="rank of the change")
    alpha: float = Field(16.0, gt=0, description="the change is scaled by alpha / r")
    on: str = Field("query+value", min_length=1, description="which linear layers")

    def begin(self, encoder: Any) -> nn.Module:
        changes = [Change(layer.in_features, self.r, layer.out_features) for layer in self.places(encoder)]
        return nn.ModuleDict({"low_rank_changes": nn.ModuleList(changes)})

    def attach(self, encoder: Any, tasks: nn.ModuleDict, rows: NowRead) -> None:
        scale = self.alpha / self.r
        for number, layer in enumerate(self.places(encoder)):
            change = functools.partial(_changed, number, scale)
            layer.register_forward_hook(Attached(tasks, rows, change, once=not encoder.stack.shared))

    def places(self, encoder: Any) -> list[nn.Linear]:
        """The layers of the encoder that are changed."""
        known = [
            (name.rpartition(".")[2], module)
            for layer in encoder.stack.layers
            for name, module in layer.named_modules()
            if isinstance(module, nn.Linear)
        ]
        wanted = [CALLED.get(name, (name,)) for name in self.on.split("+")]
        for names, asked in zip(wanted, self.on.split("+"), strict=True):
            if not any(name in names for name, _ in known):
                there = ", ".join(dict.fromkeys(name for name, _ in known))
                raise RotaError(
                    f"LoRA expects linear layers that the encoder has. Found on={asked} for "
                    f"{type(encoder.transformer).__name__}. Choose from {there}."
                )
        return [module for name, module in known if any(name in names for names in wanted)]


class Change(nn.Module):
    """A and B."""

    def __init__(self, read: int, rank: int, said: int) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(read, rank, bias=False), nn.Linear(rank, said, bias=False)
        nn.init.normal_(self.a.weight, std=DEVIATION)
        nn.init.zeros_(self.b.weight)


def _changed(number: int, scale: float, parts: list[Any], rows: NowRead, read: Tensor, said: Tensor) -> Tensor:
    own = [part["low_rank_changes"][number] for part in parts]
    return said + scale * rows.linear(rows.linear(read, [one.a for one in own]), [one.b for one in own])
