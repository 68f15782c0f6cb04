"""Dropout whose masks are the same for all rows of a pass: one sample of the parameters, for all of them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from rota.errors import RotaError

BITS = 53  # of a number in [0, 1)
FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F)
"""Odd numbers, one for each dimension of a mask."""
DROPOUTS = {F.dropout, F.dropout1d, F.dropout2d, F.dropout3d, F.alpha_dropout, F.feature_alpha_dropout}
CHANNELS = {F.dropout1d, F.dropout2d, F.dropout3d}  # which drop whole channels


class SharedMasks(TorchFunctionMode):
    """Inside, dropout drops the same for all rows of a pass, whichever batch they are in and however long they are.

    Whether a number is dropped follows from the seed, the module, the pass and its place in the row alone. So nothing
    is remembered, and the masks of a CPU are those of a GPU. Every number is dropped as often as by ordinary dropout.

    Attributes:
        passes: Which passes go through the model together, as copies of the rows, one copy after the other.

    Args:
        modules: Those with dropout.
        seed: Of the masks.

    >>> model = nn.Dropout(0.5)
    >>> masks = SharedMasks([model], seed=1)
    >>> with masks.on():
    ...     model(torch.ones(2, 6))  # two rows
    tensor([[2., 0., 2., 0., 2., 2.],
            [2., 0., 2., 0., 2., 2.]])
    """

    def __init__(self, modules: Sequence[nn.Module], seed: int) -> None:
        super().__init__()
        self._modules, self._seed = list(modules), seed
        self._inside: list[int] = []  # numbers of the modules that are being called
        self.passes: Sequence[int] = (0,)

    @contextmanager
    def on(self) -> Iterator[None]:
        """Let the masks hold."""
        with ExitStack() as stack:
            for number, module in enumerate(self._modules):
                stack.callback(module.register_forward_pre_hook(self._entering(number)).remove)
                stack.callback(module.register_forward_hook(self._leaving, always_call=True).remove)
            stack.enter_context(self)
            yield

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        own = kwargs or {}
        if func in DROPOUTS:
            return self._dropout(func, *args, **own)
        if func is F.scaled_dot_product_attention:
            return self._attention(*args, **own)
        return func(*args, **own)

    def _entering(self, number: int) -> Callable[..., None]:
        return lambda *_: self._inside.append(number)

    def _leaving(self, *_: Any) -> None:
        self._inside.pop()

    def _dropout(
        self, func: Callable[..., Any], input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
    ) -> Tensor:
        if not training or p == 0.0:
            return input
        if func not in CHANNELS and func is not F.dropout:
            raise RotaError(
                f"Masks that are the same for all rows expect dropout that puts zeros. Found {func.__name__}. Use a "
                f"score that looks at rows one by one, such as bald."
            )
        shape = (*input.shape[:2], *[1] * (input.dim() - 2)) if func in CHANNELS else input.shape
        return input * self._mask(shape, p, input)

    def _attention(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """The fused one draws its masks itself."""
        if dropout_p == 0.0:
            return F.scaled_dot_product_attention(
                query, key, value, attn_mask, 0.0, is_causal, scale=scale, enable_gqa=enable_gqa
            )
        if enable_gqa:
            groups = query.shape[-3] // key.shape[-3]
            key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
        scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
        if is_causal:
            attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        if attn_mask is not None:
            scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
        shares = scores.softmax(-1)
        return (shares * self._mask(shares.shape, dropout_p, shares)) @ value

    def _mask(self, shape: Sequence[int], p: float, like: Tensor) -> Tensor:
        """0 or 1 / (1 - p), of a shape that fits the rows."""
        passes = len(self.passes)
        if shape[0] % passes:
            raise RotaError(
                f"Masks that are the same for all rows expect rows as the first dimension of what is dropped, {passes} "
                f"copies of them. Found {shape[0]}. Use a score that looks at rows one by one, such as bald."
            )
        keys = [self._key(number) for number in self.passes]
        places = torch.tensor(keys, device=like.device).view(-1, *[1] * len(shape))
        for dim, (size, factor) in enumerate(zip(shape[1:], FACTORS, strict=False), start=2):
            own = torch.arange(size, device=like.device) * _signed(factor)
            places = places + own.view(-1, *[1] * (len(shape) - dim))
        kept = (_uniform(places) >= p).to(like.dtype) / (1.0 - p)
        return kept.expand(passes, shape[0] // passes, *shape[1:]).flatten(0, 1)

    def _key(self, number: int) -> int:
        told = f"{self._seed} {self._inside[-1] if self._inside else -1} {number}"
        return int.from_bytes(hashlib.blake2b(told.encode(), digest_size=8).digest(), "little", signed=True)


def _uniform(places: Tensor) -> Tensor:
    """A number in [0, 1) for each 64-bit number: the finalizer of MurmurHash3, whose products wrap around."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        places = (places ^ _shifted(places, 33)) * _signed(factor)
    return _shifted(places ^ _shifted(places, 33), 64 - BITS).double() / 2**BITS


def _shifted(numbers: Tensor, by: int) -> Tensor:
    """To the right, with zeros from the left."""
    return (numbers >> by) & ((1 << (64 - by)) - 1)


def _signed(number: int) -> int:
    """The same 64 bits as a number with a sign.

    >>> _signed(2**64 - 1)
    -1
    """
    return number - 2**64 if number >= 2**63 else number
