"""Adapters by name."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from rota.errors import RotaError, describe_mistakes, unknown_name
from rota.models.adapters._adapter import Adapter
from rota.models.adapters._houlsby import Houlsby
from rota.models.adapters._lora import LoRA
from rota.models.adapters._pals import PALs

ADAPTERS: dict[str, type[Adapter]] = {kind.name: kind for kind in (Houlsby, PALs, LoRA)}
"""The kinds of adapters by their names."""


def make_adapter(text: str) -> Adapter:
    """An adapter from its name and its options, as in `--adapter`; report every wrong option at once.

    >>> make_adapter("lora:r=4,on=query+key")
    LoRA(r=4, alpha=16.0, on='query+key')
    >>> make_adapter("houlsby").size
    64
    """
    name = text.partition(":")[0]
    if name not in ADAPTERS:
        raise unknown_name("adapter", name, ADAPTERS)
    return with_options(ADAPTERS[name], text)


AnyAdapter = TypeVar("AnyAdapter", bound=BaseModel)


def with_options(kind: type[AnyAdapter], text: str) -> AnyAdapter:
    """An adapter of a kind with the options of a text; report every wrong option at once.

    >>> with_options(LoRA, "lora:r=4").alpha
    16.0
    """
    name, _, options = text.partition(":")
    fields: dict[str, str] = {}
    for option in filter(None, options.split(",")):
        field, equals, value = option.partition("=")
        if not equals:
            raise RotaError(f"The adapter {name} expects options such as size=64. Found '{option}' in '{text}'.")
        fields[field.strip()] = value.strip()
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise RotaError(f"adapter {name}: {describe_mistakes(error.errors(), list(kind.model_fields))}") from error
