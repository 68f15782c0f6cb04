"""Kernels that give the same numbers each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import torch

Result = TypeVar("Result")


class KernelChoice(NamedTuple):
    """What this process asks of kernels; by default what repeats.

    Args:
        strict: Only those that repeat.
        lenient: Where there is none, any, with a warning.
        fills: Memory is filled before it is written.
        planned: cuDNN may plan attention.
        searched, fixed: cuDNN may try several convolutions; takes one that repeats.
    """

    strict: bool = True
    lenient: bool = False
    fills: bool = False  # nobody reads it
    planned: bool = False
    searched: bool = False
    fixed: bool = True


def kernel_choice() -> KernelChoice:
    """What is asked of kernels now.

    >>> kernel_choice().strict
    False
    """
    return KernelChoice(
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        _memory().fill_uninitialized_memory,
        torch.backends.cuda.cudnn_sdp_enabled(),
        torch.backends.cudnn.benchmark,
        torch.backends.cudnn.deterministic,
    )


def choose_kernels(choice: KernelChoice) -> None:
    """From now on."""
    torch.use_deterministic_algorithms(choice.strict, warn_only=choice.lenient)
    _memory().fill_uninitialized_memory = choice.fills
    torch.backends.cuda.enable_cudnn_sdp(choice.planned)
    torch.backends.cudnn.benchmark = choice.searched
    torch.backends.cudnn.deterministic = choice.fixed


def _memory() -> Any:
    return torch.utils.deterministic


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
    before = kernel_choice()
    choose_kernels(KernelChoice())
    try:
        yield
    finally:
        choose_kernels(before)


@contextmanager
def in_any_order() -> Iterator[None]:
    """Inside, torch does not look for kernels that repeat: for work that is the same in any order.

    >>> with repeatable(), in_any_order():
    ...     torch.are_deterministic_algorithms_enabled()
    False
    """
    strict = torch.are_deterministic_algorithms_enabled()
    lenient = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(False)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(strict, warn_only=lenient)


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
