"""Evaluation mode for a while."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Inside, the model is in evaluation mode; afterwards every module is in the mode in which it was found.

    >>> model = nn.Dropout(0.5)
    >>> with evaluating(model):
    ...     model.training
    False
    >>> model.training
    True
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def able_to_go_back(model: nn.Module) -> contextlib.AbstractContextManager[Any]:
    """Inside, gradients can be computed in evaluation mode: cuDNN computes those of recurrent layers in training mode
    only.

    >>> with evaluating(model := nn.LSTM(2, 2)), able_to_go_back(model):
    ...     model(torch.ones(1, 1, 2))[0].sum().backward()
    """
    if any(isinstance(module, nn.RNNBase) for module in model.modules()):
        return torch.backends.cudnn.flags(enabled=False)
    return contextlib.nullcontext()
