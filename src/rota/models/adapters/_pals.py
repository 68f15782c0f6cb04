"""Projected attention layers (Stickland & Murray, 2019): a small attention of each task beside every layer."""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from rota.models.adapters._adapter import Adapter
from rota.models.adapters._attached import DEVIATION, Attached, NowRead, ends
from rota.tasks import repeated


class PALs(Adapter):
    """Beside each layer a task has an attention of low width between two projections, which it has once for all layers:

        layer norm(h' + FFN(h') + V g(E h)),   V = 0 at first

    where h is what the layer reads and h' what its attention makes of it; g is attention of several heads on `size`
    numbers, without a projection after it. Everything is trained, the encoder by all tasks. A task has 2ds + 3ns²
    parameters for s = `size`, n layers and width d.

    The paper draws tasks by annealed sampling, which is the method `annealed`.

    Args:
        size: Numbers in the small attention.
        heads: Of it.

    Reference: Stickland & Murray, "BERT and PALs: Projected Attention Layers for Efficient Adaptation in Multi-Task
    Learning" (2019).

    Where this differs from its released code: as in the paper there are no biases and no activation after V, and the
    small attention has no dropout. V begins at zero.

    >>> str(PALs())
    'pals:size=204,heads=12'
    """

    name: ClassVar[str] = "pals"
    trains_encoder: ClassVar[bool] = True

    size: int = Field(204, ge=1, description="numbers in the small attention")
    heads: int = Field(12, ge=1, description="heads of the small attention")

    @model_validator(mode="after")
    def _fits(self) -> PALs:
        if self.size % self.heads:
            raise ValueError(f"a size that heads divide evenly. Found size={self.size} and heads={self.heads}")
        return self

    def begin(self, encoder: Any) -> nn.Module:
        return nn.ModuleDict(
            {
                "projections": Projections(encoder.width, self.size),
                "small_attentions": nn.ModuleList([SmallAttention(self.size) for _ in encoder.stack.layers]),
            }
        )

    def attach(self, encoder: Any, tasks: nn.ModuleDict, rows: NowRead) -> None:
        outputs = ends(encoder.stack.layers, "feed-forward part")
        for number, (layer, output) in enumerate(zip(encoder.stack.layers, outputs, strict=True)):
            read = LayerInput()
            layer.register_forward_pre_hook(read, with_kwargs=True)
            output.register_forward_hook(Attached(tasks, rows, functools.partial(_beside, number, self.heads, read)))


class Projections(nn.Module):
    """E and V."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.encode, self.decode = nn.Linear(width, size, bias=False), nn.Linear(size, width, bias=False)
        nn.init.normal_(self.encode.weight, std=DEVIATION)
        nn.init.zeros_(self.decode.weight)


class SmallAttention(nn.Module):
    """Queries, keys and values of one layer."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(size, size, bias=False) for _ in range(3))
        for layer in (self.query, self.key, self.value):
            nn.init.normal_(layer.weight, std=DEVIATION)


class LayerInput:
    """What a layer reads, kept until its output is made."""

    def __init__(self) -> None:
        self.hidden: Tensor | None = None

    def __call__(self, layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.hidden = args[0] if args else kwargs["hidden_states"]

    def take(self) -> Tensor:
        assert self.hidden is not None, "a layer reads before it speaks"
        hidden, self.hidden = self.hidden, None
        return hidden


def _beside(
    number: int, heads: int, read: LayerInput, parts: list[Any], rows: NowRead, _: Tensor, said: Tensor
) -> Tensor:
    hidden = read.take()
    hidden = repeated(hidden, len(said) // len(hidden))  # copies of the rows may have come in on the way
    projections, own = [part["projections"] for part in parts], [part["small_attentions"][number] for part in parts]
    small = rows.linear(hidden, [one.encode for one in projections])
    q, k, v = (
        rows.linear(small, [getattr(one, name) for one in own]).unflatten(-1, (heads, -1)).transpose(1, 2)
        for name in ("query", "key", "value")
    )
    seen = F.scaled_dot_product_attention(q, k, v, attn_mask=rows.real(len(said))[:, None, None, :])
    return said + rows.linear(seen.transpose(1, 2).flatten(2), [one.decode for one in projections])
