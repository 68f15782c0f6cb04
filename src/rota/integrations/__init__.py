"""Trainers of others, in which a policy of the house chooses the batches.

Each module is for one host and is loaded when it is named: `rota.integrations.hf` (transformers' Trainer, trl's
SFTTrainer), `trl` (GRPO), `sentence_transformers`, `lightning`, `accelerate`. They use what the hosts document, and
nothing private.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from rota.errors import missing_package

__all__: list[str] = []

_HOSTS = ("accelerate", "hf", "lightning", "sentence_transformers", "trl")


def __getattr__(name: str) -> ModuleType:
    if name not in _HOSTS:
        raise AttributeError(f"module 'rota.integrations' has no attribute '{name}'")
    try:
        return import_module(f"rota.integrations.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "rota":
            raise
        raise missing_package(f"`rota.integrations.{name}`", str(error.name), "hosts") from error
