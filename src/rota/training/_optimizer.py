"""Make the optimizer, and move its state to and from plain tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from rota.settings import Settings


def make_optimizer(model: nn.Module, settings: Settings) -> torch.optim.Optimizer:
    """The optimizer of the settings; matrices decay, biases and norms do not. Adam's update is one kernel for many
    parameters, on CPUs too; that of SGD fails where some of them have no momentum yet, so it is left as it is."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": settings.weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    match settings.optimizer:
        case "adamw":
            return torch.optim.AdamW(groups, lr=settings.highest_rate, fused=True)
        case "adam":
            return torch.optim.Adam(groups, lr=settings.highest_rate, fused=True)
        case "adamax":
            return torch.optim.Adamax(groups, lr=settings.highest_rate)
        case "sgd":
            return torch.optim.SGD(groups, lr=settings.highest_rate, momentum=settings.momentum)


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The state of the optimizer as named tensors: `parameter number.name`."""
    state = optimizer.state_dict()["state"]
    return {
        f"{number}.{name}": torch.as_tensor(value)
        for number, values in state.items()
        for name, value in values.items()
        if value is not None  # sgd says None where there is no momentum yet
    }


def load_optimizer_tensors(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Bring the optimizer back to the state that `optimizer_tensors` wrote."""
    state: dict[int, dict[str, Any]] = {}
    for key, tensor in tensors.items():
        number, name = key.split(".", 1)
        state.setdefault(int(number), {})[name] = tensor.clone()
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
