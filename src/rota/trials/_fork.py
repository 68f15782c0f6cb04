"""Train freely, and leave everything as it was."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rota.trials._saved import Saved


@contextlib.contextmanager
def fork(model: nn.Module, optimizer: torch.optim.Optimizer | None = None) -> Iterator[None]:
    """Train freely inside; afterwards parameters, gradients, buffers, modes, the optimizer and all generators are as
    they were, bit for bit, whatever happened.

    Tensors stay where they are (tied weights stay tied), and no module is copied: the fork costs one copy of the
    model's and the optimizer's numbers.

    >>> import torch
    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.Adam(model.parameters())
    >>> before = model.weight.detach().clone()
    >>> with fork(model, optimizer):
    ...     model(torch.ones(3, 2)).sum().backward()
    ...     optimizer.step()
    ...     tried = not model.weight.equal(before)
    >>> tried, model.weight.equal(before), len(optimizer.state)
    (True, True, 0)
    """
    modes = [(module, module.training) for module in model.modules()]
    gradients = [(parameter, parameter.grad) for parameter in model.parameters()]
    numbers = Saved([*model.parameters(), *model.buffers()])
    undo_optimizer = _Undo(optimizer) if optimizer is not None else None
    python, numpy = random.getstate(), np.random.get_state()
    for parameter, _ in gradients:
        parameter.grad = None
    try:
        with torch.random.fork_rng():
            yield
    finally:
        numbers.restore()
        for parameter, gradient in gradients:
            parameter.grad = gradient
        for module, training in modes:
            module.training = training
        if undo_optimizer is not None:
            undo_optimizer()
        random.setstate(python)
        np.random.set_state(numpy)


class _Undo:
    """Brings an optimizer back: the state of its parameters, and settings such as the learning rate."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizer = optimizer
        self._groups = [
            {name: value for name, value in group.items() if name != "params"} for group in optimizer.param_groups
        ]
        self._state: dict[Any, dict[str, Any]] = {own: dict(state) for own, state in optimizer.state.items()}
        settings = [value for group in self._groups for value in group.values()]
        states = [value for state in self._state.values() for value in state.values()]
        self._tensors = Saved([value for value in (*settings, *states) if isinstance(value, Tensor)])

    def __call__(self) -> None:
        self._tensors.restore()
        for group, settings in zip(self._optimizer.param_groups, self._groups, strict=True):
            group.update(settings)
        self._optimizer.state.clear()
        self._optimizer.state.update(self._state)
