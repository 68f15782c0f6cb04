"""Whether a model is sharded over processes: what accelerate was asked for, honoured or refused by name."""

from __future__ import annotations

import os

import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from accelerate.utils import DistributedType
from torch import nn

from rota.engine import Trainer, gathered_parts
from rota.errors import RotaError
from rota.settings import Settings
from rota.streams import Stream

OTHERS = {"DEEPSPEED": "DeepSpeed", "MEGATRON_LM": "Megatron-LM"}
"""What accelerate can be configured for beside FSDP, by its own names."""
ALONG_OTHERS = ("tp_size", "cp_size", "sp_size", "dp_replicate_size")
"""Of a parallelism configuration: divisions of other things than of parameters over all processes."""


def resolve_sharding(settings: Settings, own: Trainer) -> Settings:
    """The settings with `shard` as the configuration of accelerate says; refuse one that would be ignored."""
    theirs = own.accelerator.distributed_type if own.accelerator is not None else None
    for name, told in OTHERS.items():
        if theirs == name or _is_on(f"ACCELERATE_USE_{name}"):
            raise RotaError(
                f"fit shards a model with FSDP2, which keeps parameters, gradients and optimizer in parts, as ZeRO-3 "
                f"does. Found a configuration of {told}. Use accelerate launch --use_fsdp --fsdp_version 2 instead."
            )
    if not (settings.shard or theirs == DistributedType.FSDP or _is_on("ACCELERATE_USE_FSDP")):
        return settings
    if settings.engine not in ("auto", "eager"):
        raise RotaError(
            f"A sharded model expects the engine eager, which gathers its layers in turn. Found "
            f"Settings(engine='{settings.engine}'). Leave it out."
        )
    if settings.precision == "fp16":
        raise RotaError("A sharded model expects bf16 or single precision. Found fp16.")
    if settings.optimizer_per_task:
        raise RotaError(
            "A sharded model expects one state of the optimizer. Found Settings(optimizer_per_task=True), which has "
            "one for each task. Leave it out."
        )
    if settings.device == "cpu" and torch.accelerator.is_available():
        raise RotaError(
            "FSDP2 shards a model over GPUs where there are any. Found Settings(device='cpu') beside a GPU. Hide it: "
            "CUDA_VISIBLE_DEVICES= …"
        )
    return settings.model_copy(update={"shard": True, "engine": "eager"})


def enable_sharding(accelerator: Accelerator) -> None:
    """Have an accelerator shard models. Where accelerate does so itself, it stays as it is; it never does on CPUs, nor
    without a configuration: there its state is told, until the run ends."""
    configured = accelerator.distributed_type == DistributedType.FSDP
    plugin = accelerator.state.fsdp_plugin if configured else _plugin()
    _check(plugin)
    if accelerator.num_processes == 1:
        raise RotaError(
            "A model is sharded over several processes. Found one. Start them: torchrun --nproc-per-node 2 …, or "
            "accelerate launch --num_processes 2 …"
        )
    parallelism = accelerator.parallelism_config
    found = [name for name in ALONG_OTHERS if parallelism is not None and getattr(parallelism, name) > 1]
    if found:
        raise RotaError(
            f"fit shards the parameters of a model over all processes. Found a parallelism configuration with "
            f"{found[0]}={getattr(parallelism, found[0])}. Leave it out."
        )
    if not configured:
        if accelerator.mixed_precision != "no":
            plugin.set_mixed_precision(accelerator.mixed_precision)
        accelerator.state.distributed_type, accelerator.state.fsdp_plugin = DistributedType.FSDP, plugin


def refuse_unshardable(stream: Stream) -> None:
    """Refuse a stream that needs a whole model in each process."""
    if not stream.shardable:
        raise RotaError(
            f"A sharded model expects batches that are drawn without asking or copying it. Found "
            f"{type(stream).__name__}. Choose a method that draws tasks, such as auto, or leave shard out."
        )


def parts_told(model: nn.Module, world: int) -> str:
    """How a model is sharded, as a notice."""
    count = gathered_parts(model)
    if count > 1:
        return f"model: sharded over {world} processes; {count} groups of layers are gathered in turn"
    return (
        f"model: sharded over {world} processes; as none of its layers is known, all of it is gathered at each pass: "
        f"name them with fsdp_transformer_layer_cls_to_wrap"
    )


def _plugin() -> FullyShardedDataParallelPlugin:
    """What the environment says of FSDP; by default layers are gathered one after the other."""
    if not _is_on("ACCELERATE_USE_FSDP"):
        return FullyShardedDataParallelPlugin(fsdp_version=2, auto_wrap_policy="transformer_based_wrap")
    known = {
        name: os.environ[f"FSDP_{name}"] for name in ("VERSION", "AUTO_WRAP_POLICY") if f"FSDP_{name}" in os.environ
    }
    return FullyShardedDataParallelPlugin(
        # A plugin that was handed to accelerate on CPUs is lost: what is known is that there was one.
        fsdp_version=int(known.get("VERSION", 2)),
        auto_wrap_policy=known.get("AUTO_WRAP_POLICY", "transformer_based_wrap"),
    )


def _check(plugin: FullyShardedDataParallelPlugin) -> None:
    if plugin.fsdp_version != 2:
        raise RotaError(
            f"fit shards a model with the second version of FSDP. Found fsdp_version={plugin.fsdp_version}. Say "
            f"fsdp_version: 2 in the configuration of accelerate; accelerate to-fsdp2 converts one."
        )
    from torch.distributed.fsdp import CPUOffloadPolicy  # late: it takes a second

    if isinstance(plugin.cpu_offload, CPUOffloadPolicy):
        raise RotaError("fit keeps the parts of a model on the GPUs. Found fsdp_offload_params. Use more processes.")
    if plugin.ignored_modules:
        raise RotaError("fit shards all parameters. Found fsdp_ignored_modules. Leave it out.")


def _is_on(variable: str) -> bool:
    return os.environ.get(variable, "false").lower() == "true"
