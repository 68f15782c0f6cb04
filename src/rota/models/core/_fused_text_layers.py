"""Layers of text encoders made of few kernels, for a GPU."""

from __future__ import annotations

import torch
from torch import Tensor

import rota.models.core._fused_kernels as kernels
from rota.models.core._seeded_dropout import Dropping
from rota.models.core._stacked_text_layers import LayerContext, Packing, StackedLayers, packing

LINES = 8  # tokens over which one program sums the gradient of a norm
LENGTHS = ((0, 32, 2), (32, 64, 4), (64, 128, 8))
"""Rows of more and of at most so many tokens, and warps for one of their heads."""


def why_not_fused(heads: int, width: int, longest: int) -> str | None:
    """Why there are no such kernels for an encoder on this machine.

    >>> why_not_fused(heads=12, width=384, longest=128) in (None, "triton is not installed")
    True
    """
    obstacles = {
        "triton is not installed": not kernels.THERE,
        f"heads are {width // heads} wide": width // heads not in (16, 32, 64, 128),
        f"rows have up to {longest} tokens": longest > LENGTHS[-1][1],
    }
    return next((reason for reason, holds in obstacles.items() if holds), None)


def why_not_alike(heads: int, width: int, dtype: torch.dtype, device: torch.device) -> str | None:
    """Why the kernels are not to be used on this device: they fail there, or say something else than torch's.

    >>> torch.cuda.is_available() or "fail here" in why_not_alike(2, 32, torch.float32, torch.device("cpu"))
    True
    """
    lengths = torch.tensor([[3, 128, 1, 60], [33, 0, 30, 100]], device=device)
    where = packing(lengths, tokens=192, width=128)
    generator = torch.Generator(device).manual_seed(0)
    sizes = (2, 192, 3 * width), (2, 192, width), (2, width), (2, width), (2, 192, width)
    inputs = [torch.randn(size, generator=generator, device=device).to(dtype) for size in sizes]
    dropping = Dropping(torch.tensor([7, 123456789], device=device), 0.1)
    found: list[list[Tensor]] = []
    try:
        for layers in (StackedLayers(where), FusedLayers(where)):
            packed, values, weight, bias, probe = (own.clone().requires_grad_() for own in inputs)
            first = layers.first_norm(values, weight, bias, 1e-5, dropping)
            out = layers.norm(first, layers.attention(packed, heads, dropping), weight, bias, 1e-5, dropping)
            out = out * where.real[..., None]
            gradients = torch.autograd.grad((out * probe.detach()).sum(), (packed, values, weight, bias))
            found.append([out.detach(), *gradients])
        apart = max(float((a - b).float().norm() / a.float().norm()) for a, b in zip(*found, strict=True))
    except Exception as error:
        return f"kernels of a stack fail here: {type(error).__name__}: {error}"[:300]
    alike = apart <= (1e-4 if dtype == torch.float32 else 3e-2)
    return None if alike else f"kernels of a stack say something else than torch's, by {apart:.1e}"


class FusedLayers(StackedLayers):
    """The layers of `StackedLayers`, whose norms and attention are one kernel each. Attention looks at each row where
    it is, without padding.

    >>> issubclass(FusedLayers, StackedLayers)
    True
    """

    def norm(
        self, values: Tensor, added: Tensor, weight: Tensor, bias: Tensor, eps: float, dropping: Dropping | None
    ) -> Tensor:
        found: Tensor = _Norm.apply(values, added, weight, bias, eps, dropping, self.where)
        return found

    def first_norm(self, values: Tensor, weight: Tensor, bias: Tensor, eps: float, dropping: Dropping | None) -> Tensor:
        found: Tensor = _Norm.apply(values, None, weight, bias, eps, dropping, self.where)
        return found

    def attention(self, packed: Tensor, heads: int, dropping: Dropping | None) -> Tensor:
        found: Tensor = _Attention.apply(packed, heads, dropping, self.where)
        return found


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(
        saved: LayerContext,
        values: Tensor,
        added: Tensor | None,
        weight: Tensor,
        bias: Tensor,
        eps: float,
        dropping: Dropping | None,
        where: Packing,
    ) -> Tensor:
        values = values.contiguous()
        members, tokens, size = values.shape
        out, normal = torch.empty_like(values), torch.empty_like(values)
        deviation = torch.empty(members * tokens, dtype=torch.float32, device=values.device)
        kernels.norm_forward[(members * tokens,)](
            values,
            values if added is None else added.contiguous(),
            weight,
            bias,
            where.row if dropping is None else dropping.seeds,
            where.row,
            where.offset,
            out,
            normal,
            deviation,
            tokens,
            size,
            weight.stride(0),
            bias.stride(0),
            eps,
            0 if dropping is None else dropping.threshold,
            1.0 if dropping is None else dropping.grown,
            ADDS=added is not None,
            DROPS=dropping is not None,
            BLOCK=1 << (size - 1).bit_length(),
        )
        saved.save_for_backward(normal, deviation, weight)
        saved.dropping, saved.where, saved.adds = dropping, where, added is not None
        return out

    @staticmethod
    def backward(saved: LayerContext, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        normal, deviation, weight = saved.saved_tensors
        dropping, where = saved.dropping, saved.where
        members, tokens, size = normal.shape
        own = gradients[0].contiguous()
        of_values = torch.empty_like(normal)
        apart = saved.adds and dropping is not None
        of_added = torch.empty_like(normal) if apart else of_values
        parts = members * tokens // LINES
        of_weight, of_bias = (torch.empty(parts, size, dtype=torch.float32, device=normal.device) for _ in range(2))
        kernels.norm_backward[(parts,)](
            own,
            weight,
            where.row if dropping is None else dropping.seeds,
            where.row,
            where.offset,
            normal,
            deviation,
            of_values,
            of_added,
            of_weight,
            of_bias,
            tokens,
            size,
            weight.stride(0),
            0 if dropping is None else dropping.threshold,
            1.0 if dropping is None else dropping.grown,
            ADDS=saved.adds,
            DROPS=dropping is not None,
            BLOCK=1 << (size - 1).bit_length(),
            LINES=LINES,
        )
        sums = (one.view(members, -1, size).sum(1).to(weight.dtype) for one in (of_weight, of_bias))
        return of_values, of_added if saved.adds else None, *sums, None, None, None


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(saved: LayerContext, packed: Tensor, heads: int, dropping: Dropping | None, where: Packing) -> Tensor:
        packed = packed.contiguous()
        members, tokens, triple = packed.shape
        out = packed.new_zeros(members, tokens, triple // 3)
        _each_length(kernels.attention_forward, (packed, out), packed, heads, dropping, where)
        saved.save_for_backward(packed)
        saved.heads, saved.dropping, saved.where = heads, dropping, where
        return out

    @staticmethod
    def backward(saved: LayerContext, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (packed,) = saved.saved_tensors
        found = torch.zeros_like(packed)
        tensors = (packed, gradients[0].contiguous(), found)
        _each_length(kernels.attention_backward, tensors, packed, saved.heads, saved.dropping, saved.where)
        return found, None, None, None


def _each_length(
    kernel: object, tensors: tuple[Tensor, ...], packed: Tensor, heads: int, dropping: Dropping | None, where: Packing
) -> None:
    """Once for the short rows, once for longer ones: a program holds all weights of a row."""
    members, rows, width = where.inside.shape
    each = packed.shape[2] // 3 // heads
    for shorter, longest, warps in LENGTHS:
        if shorter >= width:
            break
        kernel[members * rows, heads](  # type: ignore[index]
            *tensors,
            where.starts,
            where.lengths,
            where.row if dropping is None else dropping.seeds,
            packed.shape[1],
            rows,
            heads,
            each**-0.5,
            0 if dropping is None else dropping.threshold,
            1.0 if dropping is None else dropping.grown,
            SHORTER=shorter,
            LONGEST=longest,
            EACH=each,
            DROPS=dropping is not None,
            PRECISION="ieee" if packed.dtype == torch.float32 else "tf32",
            num_warps=warps,
        )
