"""What an adapter is: parts that each task has for itself, in a transformer that all share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict
from torch import nn

from rota.models.adapters._attached import NowRead


class Adapter(BaseModel, ABC):
    """A kind of parts that each task has for itself, with its options.

    Before training every task has the plain encoder: what is multiplied last begins at zero.

    >>> from rota.models.adapters import make_adapter
    >>> isinstance(make_adapter("pals"), Adapter), str(make_adapter("lora:on=value"))
    (True, 'lora:r=8,alpha=16.0,on=value')
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: ClassVar[str]
    trains_encoder: ClassVar[bool] = False
    """Whether the paper trains the encoder, too."""

    @abstractmethod
    def begin(self, encoder: Any) -> nn.Module:
        """The parts of a task, as they begin; its children have the names under which they are counted."""

    @abstractmethod
    def attach(self, encoder: Any, tasks: nn.ModuleDict, rows: NowRead) -> None:
        """Let the parts of `tasks` change what the encoder's modules say."""

    def trained(self, encoder: Any) -> list[nn.Module]:
        """What of a frozen encoder is trained nevertheless."""
        return []

    def __str__(self) -> str:
        fields = ",".join(f"{name}={value}" for name, value in self.model_dump().items())
        return f"{self.name}:{fields}"
