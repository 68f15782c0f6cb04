"""A model that is sharded over processes: each holds a part of every parameter (FSDP2, through accelerate)."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd

from rota.errors import RotaError

HUGGING_FACE = "_no_split_modules"
"""Where models of transformers say which of their layers stay whole; accelerate reads it, too."""


def is_sharded(tensor: Tensor) -> bool:
    """Whether this process holds a part of it.

    >>> is_sharded(torch.zeros(2))
    False
    """
    loaded = sys.modules.get("torch.distributed.tensor")  # which takes a second: without it there is no such tensor
    return loaded is not None and isinstance(tensor, loaded.DTensor)


def gathered(tensor: Any) -> Tensor:
    """All of a tensor, for which all processes have to ask where it is sharded.

    >>> gathered(torch.ones(2)).tolist()
    [1.0, 1.0]
    """
    whole: Tensor = tensor.full_tensor() if is_sharded(tensor) else tensor
    return whole


def shard_model(model: nn.Module, optimizer: torch.optim.Optimizer, accelerator: Accelerator) -> None:
    """Divide a model and its optimizer over the processes, in place, as the configuration of accelerate says. Layers
    are gathered one at a time; which modules these are the model says (`_no_split_modules`), or they are those that
    stand in a list several times.

    Args:
        model: Whole, and the same in each process.
        optimizer: Over its parameters; without a state.
        accelerator: Its type is FSDP, in its second version.
    """
    _refuse(model, accelerator)
    if not hasattr(model, HUGGING_FACE):
        setattr(model, HUGGING_FACE, sorted(whole_layers(model)))
    try:
        accelerator.prepare(model, optimizer)
    except (ValueError, KeyError, AttributeError, NotImplementedError) as error:
        raise RotaError(
            f"The configuration of FSDP2 expects a model that it fits. Found {type(error).__name__}: {error}. Change "
            f"fsdp_transformer_layer_cls_to_wrap or fsdp_cpu_ram_efficient_loading, or leave them out."
        ) from error


def whole_layers(model: nn.Module) -> set[str]:
    """Names of the classes whose modules are gathered as a whole: those that the model names; or blocks of layers that
    stand in a list several times. Single layers are not: torch warns of those whose output is changed in place.

    >>> block = lambda: nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    >>> sorted(whole_layers(block())), sorted(whole_layers(nn.ModuleList([block(), block()])))
    ([], ['Sequential'])
    """
    present = {type(module).__name__ for module in model.modules()}
    said = {name for module in model.modules() for name in getattr(module, HUGGING_FACE, None) or ()} & present
    return said or set(_in_lists(model))


def _in_lists(module: nn.Module) -> Iterator[str]:
    """Names of classes that stand in a list several times; not those inside of such."""
    layers, several = list(module.children()), set[str]()
    if isinstance(module, nn.ModuleList | nn.Sequential):
        blocks = [layer for layer in layers if any(map(_has_parameters, layer.children()))]
        counts = Counter(type(layer).__name__ for layer in blocks)
        several = {name for name, count in counts.items() if count > 1}
        yield from several
    for layer in layers:
        if type(layer).__name__ not in several:
            yield from _in_lists(layer)


def _has_parameters(module: nn.Module) -> bool:
    return any(True for _ in module.parameters())


def gathered_parts(model: nn.Module) -> int:
    """How many parts of a sharded model are gathered one after the other, the rest of it being one of them.

    >>> gathered_parts(nn.Linear(2, 2))  # it is whole
    0
    """
    from torch.distributed.fsdp import FSDPModule

    return sum(isinstance(module, FSDPModule) for module in model.modules())


def _refuse(model: nn.Module, accelerator: Accelerator) -> None:
    """What FSDP2 would train otherwise than one process does, or not at all."""
    plugin = accelerator.state.fsdp_plugin
    if any(map(is_sharded, model.parameters())):
        raise RotaError("fit shards a model itself. Found one that is sharded already. Hand it in as you built it.")
    changed = [type(own).__name__ for own in model.modules() if isinstance(own, _NormBase) and own.track_running_stats]
    if changed:
        raise RotaError(
            f"A sharded model expects layers that see each row by itself. Found {changed[0]}, "
            f"whose statistics would be others in each process. Use LayerNorm or GroupNorm, or leave shard out."
        )
    dropping = max((own.p for own in model.modules() if isinstance(own, _DropoutNd)), default=0.0)
    if plugin.activation_checkpointing and dropping:
        raise RotaError(
            f"fsdp_activation_checkpointing computes layers twice, with other dropout the second time. Found dropout "
            f"of {dropping}. Set it to 0, or use the model's own: model.gradient_checkpointing_enable()."
        )
    if not plugin.cpu_ram_efficient_loading:
        _refuse_other_weights(model)


def _refuse_other_weights(model: nn.Module) -> None:
    """Each process would contribute a part of another model."""
    prints = gather_object([_print_of(list(model.parameters()))])
    others = [rank for rank, found in enumerate(prints) if found != prints[0]]
    if others:
        raise RotaError(
            f"A sharded model expects the same initial weights in each. Found others in process "
            f"{others[0]}. Call torch.manual_seed before you build it."
        )


def _print_of(parameters: Collection[Tensor]) -> str:
    sums = torch.stack([own.detach().double().sum().cpu() for own in parameters])
    return hashlib.sha256(bytes(sums.view(torch.uint8).tolist())).hexdigest()
