"""Which conditional parts a CA-MTL encoder has."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rota.errors import RotaError, describe_mistakes


class Parts(BaseModel):
    """The conditional parts, each of which can be left out with "off".

    `Parts.released` has what the released code has.

    >>> Parts(alignment="off").alignment, Parts.released(layers=12).new_top
    ('off', True)
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    attention: Literal["all", "trainable", "off"] | Annotated[int, Field(ge=0, strict=True)] = Field(
        "all", description="layers whose attention has a bias by task: all, those that are not frozen, from a number on"
    )
    blocks: int | None = Field(None, ge=1, description="blocks of the bias; default width // longest; 1: full matrix")
    entries: Literal["column", "full"] = Field("column", description="what γ and β of the bias are for")
    first_bias: Literal["zeros", "normal"] = Field("zeros", description="what the bias begins with")
    longest: int = Field(128, ge=1, description="tokens for which there is a bias")
    alignment: Literal["film", "matrix", "per-task", "off"] = Field("film", description="how embeddings are aligned")
    norm: Literal["code", "full", "off"] = Field("code", description="form of the layer norms of the upper half")
    bottleneck: Literal["auto", "top", "stream", "released-top", "released-stream", "off"] = Field(
        "auto",
        description="narrow part: in the top layer, or as a stream beside all layers (auto: from 24 layers on); in the "
        "released forms nothing goes past it",
    )
    relu: bool = Field(False, description="a ReLU in the bottleneck")
    new_top: bool = Field(False, description="begin the top layer with random weights, as the released code does")
    freeze_bias: bool = Field(False, description="do not train γ and β of the bias in frozen layers")

    @classmethod
    def released(cls, layers: int, longest: int = 128) -> Parts:
        """As in the released code, for an encoder with this number of layers and texts of this length."""
        form: Any = "released-stream" if layers >= MANY else "released-top"
        return cls(bottleneck=form, new_top=layers < MANY, freeze_bias=True, longest=longest)

    def blocks_for(self, width: int) -> int:
        return self.blocks or max(1, width // self.longest)

    def bottleneck_for(self, layers: int) -> str:
        if self.bottleneck != "auto":
            return self.bottleneck
        return "stream" if layers >= MANY else "top"


MANY = 24
"""Layers from which the bottleneck is a stream beside all of them."""


PartsFor = Callable[[int], Parts]
"""Makes the parts for a number of layers, as `Parts.released` does."""


def parts_for(wanted: Mapping[str, Any] | str, longest: int = 128) -> PartsFor:
    """What makes the parts that a plan asks for, by their fields or by the word "released".

    Args:
        wanted: Fields of `Parts`, or the word.
        longest: Tokens for which there is a bias, unless the fields say otherwise.

    >>> parts_for("released", longest=256)(24).bottleneck, parts_for({"norm": "off"})(24).bottleneck
    ('released-stream', 'auto')
    """
    if isinstance(wanted, str):
        if wanted != "released":
            raise RotaError(f"Parts of CA-MTL expect fields such as norm=off, or the word released. Found '{wanted}'.")
        return functools.partial(Parts.released, longest=longest)
    found = make_parts({"longest": longest, **wanted})
    return lambda layers: found


def make_parts(fields: Mapping[str, Any]) -> Parts:
    """Parts from plain fields; report every wrong field at once. A switch that YAML read as false means "off".

    >>> make_parts({"norm": False}).norm
    'off'
    """
    plain = {
        name: "off" if value is False and name not in ("relu", "new_top", "freeze_bias") else value
        for name, value in fields.items()
    }
    try:
        return Parts.model_validate(plain)
    except ValidationError as error:
        raise RotaError(f"Parts of CA-MTL: {describe_mistakes(error.errors(), list(Parts.model_fields))}") from error
