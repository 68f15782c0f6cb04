"""Layers of transformers of the BERT family, for several members at once.

Texts are packed: the tokens of all rows of a member stand in one line, [S, T, …], so that no product is spent on
padding. Only attention sees rows: for it, tokens are moved to their places in [S, B, L] and back. Every product is one
batched product over the members; sums over tokens are products with ones, which round alike for any number of members.
The gradients are written out, because most of the time would go into what autograd does with views of views.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from rota.models.core._seeded_dropout import PITCH, Dropping

LayerContext = Any
"""Where autograd keeps what a gradient needs."""
HIDDEN = -1e9
"""Added to the scores of padding."""


class Packing(NamedTuple):
    """Where the tokens of a batch are.

    Args:
        row, offset: Of each token of the line, its row and its place in it, [S, T].
        real: Whether there is a token at all, [S, T].
        slot: Of each place in [S, B, L], where in [S·T] its token is; any number for padding.
        inside: Whether there is one, [S, B, L].
        place: Of each token in [S·T], where in [S·B·L] it is; any number where there is none.
        starts, lengths: Of each row, where its first token is in the line, and how many it has, [S, B].

    >>> found = packing(torch.tensor([[2, 1]]), tokens=4, width=2)
    >>> found.row.tolist(), found.offset.tolist(), found.real.tolist()
    ([[0, 0, 1, 1]], [[0, 1, 0, 1]], [[True, True, True, False]])
    """

    row: Tensor
    offset: Tensor
    real: Tensor
    slot: Tensor
    inside: Tensor
    place: Tensor
    starts: Tensor
    lengths: Tensor


def packing(lengths: Tensor, tokens: int, width: int) -> Packing:
    """Lines of `tokens` tokens for rows of these lengths, [S, B], of which none is longer than `width`.

    >>> packing(torch.tensor([[2, 1], [1, 1]]), tokens=4, width=2).starts.tolist()
    [[0, 2], [0, 1]]
    """
    members, rows = lengths.shape
    ends = lengths.cumsum(1)
    starts = ends - lengths
    line = torch.arange(tokens, device=lengths.device).expand(members, tokens).contiguous()
    row = torch.searchsorted(ends, line, right=True).clamp(max=rows - 1)
    offset = line - starts.gather(1, row)
    real = line < ends[:, -1:]
    member = torch.arange(members, device=lengths.device)[:, None]
    place = (member * rows + row) * width + offset.clamp(max=width - 1)
    across = torch.arange(width, device=lengths.device)
    inside = across < lengths[..., None]
    slot = (starts[..., None] + across).clamp(max=tokens - 1) + member[..., None] * tokens
    return Packing(row, offset, real, slot.flatten(), inside, place.flatten(), starts, lengths)


def sum_of_tokens(values: Tensor) -> Tensor:
    """[S, T, D] → [S, D]."""
    ones = values.new_ones(1, 1, 1).expand(len(values), 1, values.shape[1])
    return torch.bmm(ones, values)[:, 0]


class StackedLinear(torch.autograd.Function):
    """A linear layer, [S, T, I] → [S, T, O], with a GELU where asked for."""

    @staticmethod
    def forward(saved: LayerContext, values: Tensor, weight: Tensor, bias: Tensor, gelu: bool = False) -> Tensor:
        found = torch.baddbmm(bias[:, None], values, weight.transpose(1, 2))
        saved.save_for_backward(values, weight, found if gelu else None)
        return F.gelu(found) if gelu else found

    @staticmethod
    def backward(saved: LayerContext, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        values, weight, before = saved.saved_tensors
        own = gradients[0] if before is None else torch.ops.aten.gelu_backward(gradients[0], before)
        seen = torch.bmm(own, weight) if saved.needs_input_grad[0] else None
        return seen, torch.bmm(own.transpose(1, 2), values), sum_of_tokens(own), None


class StackedNorm(torch.autograd.Function):
    """The layer norm of a sum: values + dropout(added), where nothing may be added, and nothing dropped.

    `kept` says of each number whether it is kept, as 1 or 0; those that are kept grow by the factor `grown`.
    """

    @staticmethod
    def forward(
        saved: LayerContext,
        values: Tensor,
        added: Tensor | None,
        kept: Tensor | None,
        grown: float,
        weight: Tensor,
        bias: Tensor,
        eps: float,
    ) -> Tensor:
        total = values
        if added is not None:
            total = values + added if kept is None else torch.addcmul(values, added, kept, value=grown)
        normal, mean, deviation = torch.native_layer_norm(total, total.shape[-1:], None, None, eps)
        saved.save_for_backward(total, mean, deviation, normal, weight, kept)
        saved.grown, saved.adds = grown, added is not None
        return torch.addcmul(bias[:, None], normal, weight[:, None])

    @staticmethod
    def backward(saved: LayerContext, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        total, mean, deviation, normal, weight, kept = saved.saved_tensors
        (own,) = gradients
        seen = torch.ops.aten.native_layer_norm_backward(
            own * weight[:, None], total, total.shape[-1:], mean, deviation, None, None, [True, False, False]
        )[0]
        added = None
        if saved.adds:
            added = seen if kept is None else seen * kept * saved.grown
        return seen, added, None, None, sum_of_tokens(own * normal), sum_of_tokens(own), None


class StackedDropout(torch.autograd.Function):
    """Dropout whose choice was made before."""

    @staticmethod
    def forward(saved: LayerContext, values: Tensor, kept: Tensor, grown: float) -> Tensor:
        saved.save_for_backward(kept)
        saved.grown = grown
        return values * kept * grown

    @staticmethod
    def backward(saved: LayerContext, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (kept,) = saved.saved_tensors
        return gradients[0] * kept * saved.grown, None, None


class StackedAttention(torch.autograd.Function):
    """Attention of each row to itself: queries, keys and values in one line, [S, T, 3·D] → [S, T, D].

    `kept` [S, B, H, L, L] says which of the weights dropout keeps.
    """

    @staticmethod
    def forward(
        saved: LayerContext, packed: Tensor, where: Packing, heads: int, kept: Tensor | None, grown: float
    ) -> Tensor:
        members, tokens, triple = packed.shape
        _, rows, width = where.inside.shape
        each = triple // 3 // heads
        padded = packed.view(members * tokens, triple).index_select(0, where.slot)
        apart = padded.view(members * rows, width, 3, heads, each).permute(2, 0, 3, 1, 4).contiguous()
        queries, keys, values = apart.view(3, members * rows * heads, width, each)
        hidden = torch.zeros(where.inside.shape, dtype=packed.dtype, device=packed.device)
        hidden = hidden.masked_fill_(~where.inside, HIDDEN).view(members * rows, 1, 1, width)
        hidden = hidden.expand(-1, heads, width, -1).reshape(-1, width, width)
        scores = torch.baddbmm(hidden, queries, keys.transpose(1, 2), alpha=each**-0.5)
        weights = torch.softmax(scores, -1)
        mixed = weights if kept is None else weights * kept.view_as(weights) * grown
        found = torch.bmm(mixed, values).view(members * rows, heads, width, each).transpose(1, 2)
        saved.save_for_backward(apart, weights, kept, where.slot, where.place, where.inside, where.real)
        saved.heads, saved.grown = heads, grown
        return found.reshape(-1, triple // 3).index_select(0, where.place).view(members, tokens, -1)

    @staticmethod
    def backward(saved: LayerContext, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        apart, weights, kept, slot, place, inside, real = saved.saved_tensors
        members, rows, width = inside.shape
        _, _, heads, _, each = apart.shape
        own = gradients[0].reshape(-1, heads * each).index_select(0, slot)
        own = (own * inside.view(-1, 1)).view(members * rows, width, heads, each).transpose(1, 2)
        own = own.reshape(-1, width, each)
        queries, keys, values = apart.view(3, -1, width, each)
        mixed = weights if kept is None else weights * kept.view_as(weights) * saved.grown
        asked = torch.bmm(own, values.transpose(1, 2))
        if kept is not None:
            asked = asked * kept.view_as(asked) * saved.grown
        scores = torch._softmax_backward_data(asked, weights, -1, weights.dtype)
        found = torch.empty_like(apart)
        three = found.view(3, -1, width, each)
        scale = each**-0.5
        torch.bmm(scores, keys, out=three[0]).mul_(scale)
        torch.bmm(scores.transpose(1, 2), queries, out=three[1]).mul_(scale)
        torch.bmm(mixed.transpose(1, 2), own, out=three[2])
        padded = found.permute(1, 3, 0, 2, 4).reshape(members * rows * width, -1)
        packed = padded.index_select(0, place).view(members, real.shape[1], -1) * real[..., None]
        return packed, None, None, None, None


class StackedLayers:
    """The layers of a text encoder, made of torch's kernels.

    Args:
        where: Tokens are.

    >>> layers = StackedLayers(packing(torch.tensor([[2, 1], [1, 1]]), tokens=4, width=2))
    >>> layers.attention(torch.zeros(2, 4, 3 * 8), heads=2, dropping=None).shape
    torch.Size([2, 4, 8])
    """

    def __init__(self, where: Packing) -> None:
        self.where = where

    def linear(self, values: Tensor, weight: Tensor, bias: Tensor, gelu: bool = False) -> Tensor:
        """[S, T, I] → [S, T, O], with a GELU where asked for."""
        found: Tensor = StackedLinear.apply(values, weight, bias, gelu)
        return found

    def norm(
        self, values: Tensor, added: Tensor, weight: Tensor, bias: Tensor, eps: float, dropping: Dropping | None
    ) -> Tensor:
        """The layer norm of a sum, of which dropout may leave out some of what is added."""
        kept = None if dropping is None else self._kept(dropping, values)
        grown = 1.0 if dropping is None else dropping.grown
        found: Tensor = StackedNorm.apply(values, added, kept, grown, weight, bias, eps)
        return found

    def first_norm(self, values: Tensor, weight: Tensor, bias: Tensor, eps: float, dropping: Dropping | None) -> Tensor:
        """A layer norm, of whose numbers dropout may leave out some."""
        found: Tensor = StackedNorm.apply(values, None, None, 1.0, weight, bias, eps)
        if dropping is not None:
            found = StackedDropout.apply(found, self._kept(dropping, found), dropping.grown)
        return found

    def attention(self, packed: Tensor, heads: int, dropping: Dropping | None) -> Tensor:
        """Of each row to itself: queries, keys and values in one line, [S, T, 3·D] → [S, T, D]."""
        kept = None
        if dropping is not None:
            _, rows, width = self.where.inside.shape
            across = torch.arange(width, device=packed.device)
            row = torch.arange(rows * heads, device=packed.device).view(rows, heads, 1, 1)
            places = (row * PITCH + across[:, None]) * PITCH + across
            kept = dropping.kept(places.expand(len(packed), -1, -1, -1, -1)).to(packed.dtype)
        grown = 1.0 if dropping is None else dropping.grown
        found: Tensor = StackedAttention.apply(packed, self.where, heads, kept, grown)
        return found

    def _kept(self, dropping: Dropping, values: Tensor) -> Tensor:
        """Of numbers of tokens [S, T, D], those that are kept."""
        size = values.shape[-1]
        places = (self.where.row * PITCH + self.where.offset)[..., None] * size
        return dropping.kept(places + torch.arange(size, device=values.device)).to(values.dtype)
