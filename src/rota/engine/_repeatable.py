"""Kernels that give the same numbers each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

Result = TypeVar("Result")


@contextmanager
def repeatable() -> Iterator[None]:
    """Of several kernels of a GPU those that always give the same numbers: others add up the gradients of embeddings,
    convolutions and attention in any order.

    cuDNN's attention is left out: for each shape it is planned for a fifth of a second to some seconds, and for short
    texts it is slower than torch's own.

    >>> with repeatable():
    ...     torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    strict, lenient = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    memory: Any = torch.utils.deterministic
    fills, planned = memory.fill_uninitialized_memory, torch.backends.cuda.cudnn_sdp_enabled()
    torch.use_deterministic_algorithms(True)
    memory.fill_uninitialized_memory = False  # nobody reads it
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        # `flags` would switch cuDNN off by default, and convolutions would take ten times as long.
        cudnn = torch.backends.cudnn
        with cudnn.flags(enabled=cudnn.enabled, benchmark=False, deterministic=True, allow_tf32=cudnn.allow_tf32):
            yield
    finally:
        torch.use_deterministic_algorithms(strict, warn_only=lenient)
        memory.fill_uninitialized_memory = fills
        torch.backends.cuda.enable_cudnn_sdp(planned)


def repeatably(work: Callable[[], Result]) -> Result:
    """Do the work. Where torch has no repeatable kernel for it, do it again and from now on with any kernel: torch then
    warns which one it is.

    >>> with repeatable():
    ...     repeatably(lambda: torch.ones(3).cumsum(0).tolist())
    [1.0, 2.0, 3.0]
    """
    try:
        return work()
    except RuntimeError as error:
        strict = torch.are_deterministic_algorithms_enabled()
        if not strict or torch.is_deterministic_algorithms_warn_only_enabled() or "deterministic" not in str(error):
            raise
        torch.use_deterministic_algorithms(True, warn_only=True)
        return work()
