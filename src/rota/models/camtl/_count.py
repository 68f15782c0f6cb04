"""How many parameters an encoder has, part by part, and how many of them are trained."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import torch
from torch import nn

from rota.errors import RotaError
from rota.models.camtl._encoder import CAMTL
from rota.models.camtl._layer import ConditionalLayer
from rota.models.camtl._parts import Parts
from rota.models.core import Encoder, MultiTaskModel, rebuilt

Size = Literal["base", "large"]
SIZES: dict[str, dict[str, int]] = {
    "base": {},
    "large": {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
}
"""BERT's two sizes, as far as they differ from what `transformers` builds unasked."""

CASED = 28996  # tokens that the cased models of BERT know
RELEASED_FROZEN = {"base": 5, "large": 12}  # "0-4" and "0-11" in the commands of the released code


class Amount(NamedTuple):
    """Parameters, and those among them that are trained.

    >>> from rota.models import SmallConv
    >>> count_parameters(SmallConv(side=12).requires_grad_(False)).base.trained
    0
    """

    parameters: int
    trained: int


NOTHING = Amount(0, 0)


@dataclass(frozen=True)
class Counted:
    """The parameters of an encoder.

    Args:
        base: Of the plain encoder, before a method adds its parts.
        parts: What each conditional part adds, by its name.
        tasks: Tasks that share the encoder.
        heads: Of the tasks' heads, which are in none of the totals: every method has them.

    >>> counted = Counted(base=Amount(1000, 500), parts={"bottleneck": Amount(200, 200)}, tasks=2)
    >>> counted.growth, counted.trained_share, counted.per_task
    (1.2, 0.7, 0.35)
    """

    base: Amount
    parts: dict[str, Amount] = field(default_factory=dict)
    tasks: int = 1
    heads: Amount = NOTHING

    @property
    def added(self) -> int:
        """What the conditional parts add together."""
        return sum(part.parameters for part in self.parts.values())

    @property
    def total(self) -> int:
        return self.base.parameters + self.added

    @property
    def trained(self) -> int:
        return self.base.trained + sum(part.trained for part in self.parts.values())

    @property
    def growth(self) -> float:
        """The total as a multiple of the plain encoder."""
        return self.total / self.base.parameters

    @property
    def trained_share(self) -> float:
        """What is trained, as a share of the plain encoder."""
        return self.trained / self.base.parameters

    @property
    def per_task(self) -> float:
        """What is trained for each task, as a share of the plain encoder: N_trained / (T · N_base)."""
        return self.trained_share / self.tasks

    def describe(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "base": self.base._asdict(),
            "parts": {name: part._asdict() for name, part in self.parts.items()},
            "heads": self.heads._asdict(),
            "tasks": self.tasks,
            "added": self.added,
            "total": self.total,
            "growth": self.growth,
            "trained": self.trained,
            "trained_share": self.trained_share,
            "per_task": self.per_task,
        }


def count_parameters(model: MultiTaskModel | Encoder, tasks: int | None = None) -> Counted:
    """Count the parameters of an encoder, or of a model with its heads.

    Args:
        model: An encoder without conditional parts is plain from top to bottom.
        tasks: How many share it; by default those with a head, those that CA-MTL has vectors for, or one.

    >>> from rota.models import SmallConv
    >>> count_parameters(SmallConv(side=12), tasks=4).per_task
    0.25
    """
    encoder, heads = (model.encoder, model.heads) if isinstance(model, MultiTaskModel) else (model, nn.ModuleDict())
    parts = _parts_of(encoder) if isinstance(encoder, CAMTL) else {}
    added = {id(parameter) for part in parts.values() for parameter in part}
    if tasks is None:
        tasks = len(heads) or (len(list(encoder.embeddings)) if isinstance(encoder, CAMTL) else 1)
    return Counted(
        _amount(parameter for parameter in encoder.parameters() if id(parameter) not in added),
        {name: _amount(part) for name, part in parts.items()},
        tasks,
        _amount(heads.parameters()),
    )


def released_counts(size: Size, tasks: int = 9) -> Counted:
    """What the released code of CA-MTL has around BERT, cased, with its pooler, for rows of 128 tokens.

    The layers that its commands freeze are frozen. In these layers γ and β of the attention's bias keep their first
    values, because the list of what is to be trained misses their name; they count as added, not as trained. Read as it
    was meant, the list has 69.9 million parameters that are trained for the base size (here 69.8), and 298.9 for the
    large one (here 298.6).

    Args:
        size: Of BERT.
        tasks: How many there are.

    >>> counted = released_counts("base")
    >>> f"{counted.base.parameters / 1e6:.2f} and {counted.added / 1e6:.2f} million, {counted.growth:.2f} times as many"
    '108.31 and 19.74 million, 1.18 times as many'
    """
    found = _bert(size)
    return _counted(found, tasks, Parts.released(len(found.encoder.layer)), RELEASED_FROZEN[size])


def default_counts(size: Size, tasks: int = 9) -> Counted:
    """What `CAMTL` has around the same encoder as in `released_counts`, where nobody asks for anything else.

    Args:
        size: Of BERT.
        tasks: How many there are.

    >>> counted = default_counts("base", tasks=9)
    >>> f"{counted.growth:.2f} times BERT; for each task {counted.per_task:.0%} of BERT is trained"
    '1.17 times BERT; for each task 6% of BERT is trained'
    """
    return _counted(_bert(size), tasks, None, "half")


def _bert(size: Size) -> Any:
    """BERT without its weights: nothing is computed on the meta device, and nothing takes memory."""
    if size not in SIZES:
        raise RotaError(f"Expected the size of BERT: {' or '.join(SIZES)}. Found '{size}'.")
    with torch.device("meta"):
        return rebuilt({"model_type": "bert", "vocab_size": CASED, **SIZES[size]}, "pooled", True, None).transformer


def _counted(transformer: Any, tasks: int, parts: Parts | None, frozen: int | Literal["half"]) -> Counted:
    if tasks < 1:
        raise RotaError(f"Parameters per task expect at least one task. Found {tasks}.")
    names = [f"task {number}" for number in range(tasks)]
    with torch.device("meta"):
        return count_parameters(CAMTL(transformer, names, "pooled", parts=parts, frozen=frozen))


def _parts_of(encoder: CAMTL) -> dict[str, list[nn.Parameter]]:
    layers = [layer for layer in encoder.stack.layers if isinstance(layer, ConditionalLayer)]
    norms = [norm for own in layers for norm in (own.attention_norm, own.output_norm, own.last_norm)]
    return {
        "attention": _parameters(layer.bias for layer in layers),
        "alignment": _parameters([encoder.alignment]),
        "layer norms": _parameters(norms),
        "bottleneck": _parameters(layer.bottleneck for layer in layers),
        "task vectors": list(encoder.embeddings.vectors.parameters()),
        "transformation": list(encoder.embeddings.shared.parameters()),
    }


def _parameters(modules: Iterable[nn.Module | None]) -> list[nn.Parameter]:
    return [parameter for module in modules if module is not None for parameter in module.parameters()]


def _amount(parameters: Iterable[nn.Parameter]) -> Amount:
    found = list(parameters)
    return Amount(sum(one.numel() for one in found), sum(one.numel() for one in found if one.requires_grad))
