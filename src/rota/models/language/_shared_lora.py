"""LoRA (Hu et al., 2022) of a language model, shared by all tasks; the library peft has it."""

from __future__ import annotations

import warnings
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from rota.errors import RotaError, missing_package, unknown_name
from rota.models.adapters import with_options

NAME = "lora"


class SharedLoRA(BaseModel):
    """A low-rank change of linear layers, W h + (α / r) B A h with B = 0 at first. The network itself is frozen.

    Unlike the adapters of encoders it belongs to all tasks: a language model has no parts of its own for any of them.

    Args:
        r: The rank.
        alpha: α.
        dropout: Before A.
        on: Which linear layers, with + in between, by the last part of their names (q_proj+v_proj); "all": all but the
            one that says the tokens.

    >>> str(SharedLoRA(r=4))
    'lora:r=4,alpha=32.0,dropout=0.0,on=all'
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    r: int = Field(16, ge=1, description="rank of the change")
    alpha: float = Field(32.0, gt=0, description="the change is scaled by alpha / r")
    dropout: float = Field(0.0, ge=0, lt=1, description="dropout before the change")
    on: str = Field("all", min_length=1, description="which linear layers")

    def attach(self, network: Any) -> Any:
        """The network with the change, frozen but for that."""
        try:
            import peft  # late: only those who ask for it have it
        except ImportError as error:
            raise missing_package("LoRA of a language model", "peft", "language") from error
        on = "all-linear" if self.on == "all" else self.on.split("+")
        wanted = peft.LoraConfig(
            r=self.r,
            lora_alpha=self.alpha,  # type: ignore[arg-type]  # it divides it by r
            lora_dropout=self.dropout,
            target_modules=on,
            task_type="CAUSAL_LM",
            fan_in_fan_out=type(network).__name__.startswith("GPT2"),  # whose layers are stored the other way round
        )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of layers of which it corrects that itself
                return peft.get_peft_model(network, wanted)
        except ValueError as error:
            names = dict.fromkeys(name.rpartition(".")[2] for name, own in network.named_modules() if _is_linear(own))
            raise RotaError(
                f"LoRA expects linear layers that the model has. Found on={self.on} for {type(network).__name__}. "
                f"Choose from {', '.join(names)}, or all."
            ) from error

    def __str__(self) -> str:
        return f"{NAME}:" + ",".join(f"{name}={value}" for name, value in self.model_dump().items())


def make_shared_lora(text: str) -> SharedLoRA:
    """LoRA from its name and its options, as in `--adapter`; report every wrong option at once.

    >>> make_shared_lora("lora:r=8,dropout=0.05").alpha
    32.0
    """
    name = text.partition(":")[0]
    if name != NAME:
        raise unknown_name("adapter of a language model", name, [NAME])
    return with_options(SharedLoRA, text)


def _is_linear(module: Any) -> bool:
    return type(module).__name__ in ("Linear", "Conv1D")
