"""How many parameters an encoder has, part by part, and how many of them are trained."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch import nn

from rota.models.core._bilstm import PairBiLSTM
from rota.models.core._features import Encoder
from rota.models.core._multitask import MultiTaskModel
from rota.models.core._pretrained import Pretrained


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
        parts: What each part that a method adds has, by its name.
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
        """What these parts add together."""
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
        model: An encoder to which no method added anything is plain from top to bottom.
        tasks: How many share it; by default those with a head, those that the encoder knows, or one.

    >>> from rota.models import SmallConv
    >>> count_parameters(SmallConv(side=12), tasks=4).per_task
    0.25
    """
    encoder, heads = (model.encoder, model.heads) if isinstance(model, MultiTaskModel) else (model, nn.ModuleDict())
    parts = encoder.added() if isinstance(encoder, Pretrained | PairBiLSTM) else {}
    added = {id(parameter) for part in parts.values() for parameter in part}
    if tasks is None:
        tasks = len(heads) or (len(encoder.known) if isinstance(encoder, Pretrained) else 0) or 1
    return Counted(
        _amount(parameter for parameter in encoder.parameters() if id(parameter) not in added),
        {name: _amount(part) for name, part in parts.items()},
        tasks,
        _amount(heads.parameters()),
    )


def _amount(parameters: Iterable[nn.Parameter]) -> Amount:
    found = list(parameters)
    return Amount(sum(one.numel() for one in found), sum(one.numel() for one in found if one.requires_grad))
