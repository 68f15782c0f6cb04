"""Adapters of Houlsby et al. (2019): two narrow passages in each layer."""

from __future__ import annotations

import functools
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from rota.models.adapters._adapter import Adapter
from rota.models.adapters._attached import Attached, NowRead, ends

FIRST = 0.01  # deviation of the first weights, cut off at two of them, as the paper has it


class Houlsby(Adapter):
    """Where the attention and the feed-forward part of a layer end, before their input is added, a task narrows what
    they say to `size` numbers and widens it again:

        h + U gelu(D h + b) + c,   U = 0 and c = 0 at first

    The encoder is frozen. Adapters, layer norms and heads are trained, each task's own. With n layers of width d a task
    has 2n(2dm + d + m) parameters for m = `size`, and 2d for each of 2n + 1 layer norms.

    Args:
        size: Numbers in the narrow part.
        norms: "task": each task scales and shifts what the frozen layer norms say; "shared": the encoder's own ones are
            trained by all tasks; "frozen": not at all.

    Reference: Houlsby et al., "Parameter-Efficient Transfer Learning for NLP" (2019), which CA-MTL compares with.

    Where this differs from the paper: its second matrix begins near zero, this one at zero. A task's layer norm is
    s ⊙ norm(h) + t over the frozen one, with s = 1 and t = 0 at first: the same functions, and the same number of
    parameters. All tasks are trained in one model; the paper trains one after the other.

    >>> str(Houlsby(size=8))
    'houlsby:size=8,norms=task'
    """

    name: ClassVar[str] = "houlsby"

    size: int = Field(64, ge=1, description="numbers in the narrow part")
    norms: Literal["task", "shared", "frozen"] = Field("task", description="whose layer norms are trained")

    def begin(self, encoder: Any) -> nn.Module:
        narrow = [Narrow(encoder.width, self.size) for _ in range(2 * len(encoder.stack.layers))]
        own = {"adapters": nn.ModuleList(narrow)}
        if self.norms == "task":
            widths = [norm.normalized_shape[0] for norm in _norms(encoder)]
            own["layer_norms"] = nn.ModuleList([ScaleAndShift(width) for width in widths])
        return nn.ModuleDict(own)

    def attach(self, encoder: Any, tasks: nn.ModuleDict, rows: NowRead) -> None:
        places = [*ends(encoder.stack.layers, "attention"), *ends(encoder.stack.layers, "feed-forward part")]
        for number, place in enumerate(places):
            place.register_forward_hook(Attached(tasks, rows, functools.partial(_narrowed, number)))
        if self.norms == "task":
            for number, norm in enumerate(_norms(encoder)):
                norm.register_forward_hook(Attached(tasks, rows, functools.partial(_scaled, number)))

    def trained(self, encoder: Any) -> list[nn.Module]:
        return list(_norms(encoder)) if self.norms == "shared" else []


class Narrow(nn.Module):
    """D and b, U and c."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(width, size), nn.Linear(size, width)
        nn.init.trunc_normal_(self.down.weight, std=FIRST, a=-2 * FIRST, b=2 * FIRST)
        for zeros in (self.down.bias, self.up.weight, self.up.bias):
            nn.init.zeros_(zeros)


class ScaleAndShift(nn.Module):
    """s and t."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))


def _norms(encoder: Any) -> list[nn.LayerNorm]:
    """Those that read rows; DeBERTa has one more for its relative positions."""
    others = {module for part in encoder.stack.beside for module in part.modules()}
    found = [module for module in encoder.transformer.modules() if isinstance(module, nn.LayerNorm)]
    return [module for module in found if module not in others]


def _narrowed(number: int, parts: list[Any], rows: NowRead, _: Tensor, said: Tensor) -> Tensor:
    own = [part["adapters"][number] for part in parts]
    narrow = F.gelu(rows.linear(said, [one.down for one in own]))
    return said + rows.linear(narrow, [one.up for one in own])


def _scaled(number: int, parts: list[Any], rows: NowRead, _: Tensor, said: Tensor) -> Tensor:
    own = [part["layer_norms"][number] for part in parts]
    scale, shift = (rows.of_rows([getattr(one, name) for one in own], len(said)) for name in ("scale", "shift"))
    if scale.dim() > 1:  # [N, D]
        scale, shift = scale[:, None], shift[:, None]
    return said * scale + shift
