"""Compile what a model repeats."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


def repeated_blocks(model: nn.Module) -> list[nn.Module]:
    """The layers of a model: members of lists that hold several modules of one type. Compiling one of them serves
    them all, which takes a fraction of the time that the whole model would need."""
    lists = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    return [
        block
        for members in lists
        if len(members) > 1 and len({type(member) for member in members}) == 1
        for block in members
    ]


def can_compile(model: nn.Module) -> bool:
    """Whether it has layers that repeat, and this machine what compiles them for a GPU.

    >>> can_compile(nn.Linear(2, 2))
    False
    """
    compilers = "cc", "gcc", "clang"  # what triton looks for
    there = torch.cuda.is_available() and importlib.util.find_spec("triton") is not None
    return there and any(map(shutil.which, compilers)) and bool(repeated_blocks(model))


def compile_blocks(blocks: list[nn.Module]) -> None:
    """Fuse the small kernels of these modules. One compilation is for all lengths."""
    for block in blocks:
        block.compile(dynamic=True)


@contextmanager
def as_if_capturing() -> Iterator[None]:
    """Models look whether they are captured, and then do not ask the device whether they may take a shorter way. A
    rehearsal must take the way of the capture, in which nothing can be compiled any more."""
    asked = torch.cuda.is_current_stream_capturing
    torch.cuda.is_current_stream_capturing = lambda: True
    try:
        yield
    finally:
        torch.cuda.is_current_stream_capturing = asked


def uncompile_blocks(blocks: list[nn.Module]) -> None:
    """Leave the modules as they were found."""
    for block in blocks:
        block._compiled_call_impl = None
