"""Make the optimizer, and move its state to and from plain tensors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from rota.errors import RotaError
from rota.settings import Settings


def make_optimizer(model: nn.Module, settings: Settings, rate: Tensor | None = None) -> torch.optim.Optimizer:
    """The optimizer of the settings; matrices decay, biases and norms only if asked for. Adam's update is one kernel
    for many parameters, on CPUs too; that of SGD fails where some of them have no momentum yet, so it is left as it is.

    Args:
        model: Whose parameters.
        settings: Which optimizer, and how.
        rate: Where given, a tensor that holds the learning rate: the update can then be captured. `make_state` goes
            before the first one.

    >>> settings = Settings(optimizer="adamw", weight_decay=0.01)
    >>> optimizer = make_optimizer(nn.Linear(3, 2), settings)
    >>> [group["weight_decay"] for group in optimizer.param_groups]  # the matrix, the bias
    [0.01, 0.0]
    """
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": settings.weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": settings.weight_decay * settings.decay_all},
    ]
    groups = [group for group in groups if group["params"]]
    captured = rate is not None
    lr = settings.highest_rate if rate is None else rate
    own: dict[str, Any] = {"betas": settings.betas, "eps": settings.eps}
    own = {name: value for name, value in own.items() if value is not None}
    match settings.optimizer:
        case "adamw":
            return torch.optim.AdamW(groups, lr=lr, fused=True, capturable=captured, **own)
        case "adam":
            return torch.optim.Adam(groups, lr=lr, fused=True, capturable=captured, **own)
        case "adamax":
            return torch.optim.Adamax(groups, lr=lr, capturable=captured, **own)
        case "sgd":
            return torch.optim.SGD(groups, lr=lr, momentum=settings.momentum, fused=captured)


def make_state(optimizer: torch.optim.Optimizer, rate: Tensor) -> None:
    """Give parameters that have a gradient, but no state yet, the state in which their first update would find them.

    Captured updates must find it: what is made inside of a capture is made again by every replay. An update by nothing
    at the rate 0 makes it and changes no parameter; then it is set to zero, as it was before. The rate stays 0.
    """
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    gradients = [parameter.grad for parameter in parameters]
    new = [p for p in parameters if p.grad is not None and not optimizer.state.get(p)]
    if not new:
        return
    optimizer.zero_grad(set_to_none=True)
    for parameter in new:
        parameter.grad = torch.zeros_like(parameter)
    rate.zero_()
    optimizer.step()
    for parameter in new:
        for value in optimizer.state[parameter].values():
            if isinstance(value, Tensor):
                value.zero_()
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient


class TaskStates:
    """What an optimizer remembers, for each task by itself.

    Args:
        optimizer: Works with one of the states at a time.
        apart: Whether the tasks have states of their own; else there is one.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, apart: bool) -> None:
        self._optimizer, self._apart = optimizer, apart
        self._states: dict[str, Any] = {}

    def take(self, tasks: Sequence[str]) -> None:
        """The next step is one of these tasks."""
        if not self._apart:
            return
        if len(tasks) > 1:
            raise RotaError(
                f"Settings(optimizer_per_task=True) expects steps of one task. Found one of {', '.join(tasks)}. Leave "
                f"it out, or choose a method that trains one task at a time."
            )
        self._optimizer.state = self._states.setdefault(tasks[0], defaultdict(dict))

    def tensors(self) -> dict[str, Tensor]:
        """All of them as named tensors; those of a task have its name and a colon before theirs."""
        if not self._apart:
            return optimizer_tensors(self._optimizer)
        found: dict[str, Tensor] = {}
        for task, state in self._states.items():
            self._optimizer.state = state
            found |= {f"{task}:{name}": tensor for name, tensor in optimizer_tensors(self._optimizer).items()}
        return found

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Bring them back to what `tensors` wrote."""
        if not self._apart:
            load_optimizer_tensors(self._optimizer, tensors)
            return
        by_task: dict[str, dict[str, Tensor]] = {}
        for key, tensor in tensors.items():
            task, _, name = key.rpartition(":")
            by_task.setdefault(task, {})[name] = tensor
        for task, own in by_task.items():
            load_optimizer_tensors(self._optimizer, own)
            self._states[task] = self._optimizer.state


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The state of the optimizer as named tensors: `parameter number.name`."""
    state = optimizer.state_dict()["state"]
    return {
        f"{number}.{name}": torch.as_tensor(value)
        for number, values in state.items()
        for name, value in values.items()
        if value is not None  # sgd says None where there is no momentum yet
    }


def renumbered(
    tensors: Mapping[str, Tensor], then: Sequence[str], now: Sequence[str], gone: Collection[str] = ()
) -> dict[str, Tensor]:
    """Tensors of `TaskStates` for a model with other parameters: those that it still has keep what is remembered.

    Args:
        tensors: As they were written.
        then: Names of the parameters, in the order in which they were counted.
        now: In the present order.
        gone: Tasks that are not there any more; what is remembered for each by itself is left out.

    >>> tensors = {"0.exp_avg": torch.ones(1), "1.exp_avg": torch.zeros(1)}
    >>> list(renumbered(tensors, then=["head.a", "encoder"], now=["encoder", "head.b"]))
    ['0.exp_avg']
    """
    places = {name: place for place, name in enumerate(now)}
    found = {}
    for key, tensor in tensors.items():
        task, colon, rest = key.rpartition(":")
        number, name = rest.split(".", 1)
        if task not in gone and then[int(number)] in places:
            found[f"{task}{colon}{places[then[int(number)]]}.{name}"] = tensor
    return found


def load_optimizer_tensors(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Bring the optimizer back to the state that `optimizer_tensors` wrote."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Any]] = {}
    for key, tensor in tensors.items():
        number, name = key.split(".", 1)
        own = parameters[int(number)]
        # Laid out in memory like the parameter: a fused update walks through both of them alike.
        alike = torch.empty_like(own, dtype=tensor.dtype, device="cpu") if tensor.shape == own.shape else tensor.clone()
        state.setdefault(int(number), {})[name] = alike.copy_(tensor)
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
