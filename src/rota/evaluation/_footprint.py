"""How many rows fit into a given amount of memory?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rota.models import evaluating
from rota.tasks import Rows, Task

ALIVE = 6
"""What a forward pass without gradients holds at a time, in units of the inputs and outputs of its largest module:
there are activations, attention and what the allocator keeps beside them. Measured with a transformer on a CPU."""


@torch.no_grad()
def rows_within(memory: int, model: nn.Module, task: Task, rows: Rows) -> int:
    """How many rows go through the model at once within `memory` bytes, nearly; at least one.

    The longest row goes through the model once, and the module with the largest inputs and outputs counts.

    Args:
        memory: In bytes.
        model: Answers `model(task, inputs)`.
        task: Which head.
        rows: Of which the longest is looked at.

    >>> from rota.data import load_tasks
    >>> from rota.models import MultiTaskModel, SmallConv
    >>> task = load_tasks(["digits"])[0]
    >>> model = MultiTaskModel(SmallConv(task.inputs.side), [task])
    >>> 4 * rows_within(2**20, model, task, task.splits["dev"]) <= rows_within(2**22, model, task, task.splits["dev"])
    True
    """
    lengths = rows.lengths()
    longest = 0 if lengths is None else int(np.argmax(lengths))
    largest = 0

    def weigh(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        nonlocal largest
        if next(module.children(), None) is None:
            largest = max(largest, sum(_bytes((args, kwargs, output))))

    hooks = [module.register_forward_hook(weigh, with_kwargs=True) for module in model.modules()]
    try:
        with evaluating(model):
            model(task.name, rows.batch(np.array([longest])).to(next(model.parameters()).device).inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return max(1, memory // max(1, ALIVE * largest))


def _bytes(content: Any) -> Iterator[int]:
    """Of each tensor in it."""
    if isinstance(content, Tensor):
        yield content.numel() * content.element_size()
    elif isinstance(content, dict):
        for value in content.values():
            yield from _bytes(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from _bytes(value)
