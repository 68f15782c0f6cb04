"""A vector for each task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from rota.errors import RotaError
from rota.models.camtl._film import DEVIATION

BEGINNINGS = ("average", "random", "xavier")
"""What the vector of a new task can begin as, beside that of another task."""


class TaskEmbeddings(nn.Module):
    """A vector for each task, and the transformation of it that all layers share.

    Each is a parameter of its own: a task without rows in a step has no gradient, and an optimizer leaves it alone.

    Args:
        tasks: Their names.
        width: Of the vectors.
    """

    def __init__(self, tasks: Sequence[str], width: int) -> None:
        super().__init__()
        self.vectors = nn.ParameterDict()
        for task in tasks:  # one by one: otherwise torch sorts them
            self.vectors[task] = nn.Parameter(torch.randn(width) * DEVIATION)
        self.shared = nn.Linear(width, width)
        nn.init.normal_(self.shared.weight, std=DEVIATION)
        nn.init.zeros_(self.shared.bias)

    def __contains__(self, task: str) -> bool:
        return task in self.vectors

    def __iter__(self) -> Iterator[str]:
        return iter(self.vectors)

    def forward(self, tasks: Sequence[str]) -> tuple[Tensor, Tensor]:
        """The vectors of these tasks, and what the layers see of them: [T, width] each."""
        z_T = torch.stack([self.vectors[task] for task in tasks])
        return z_T, self.shared(z_T)

    def beginning(self, name: str) -> Tensor:
        """The vector that a new task begins with: that of a task, the `average` of all, `random` ones as at first, or
        those of Glorot & Bengio (`xavier`)."""
        if not self.vectors:
            raise RotaError("A new task expects a model that knows others already. Found one without tasks.")
        known = torch.stack(list(self.vectors.values())).detach()
        if name in self:
            return self.vectors[name].detach().clone()
        if name == "average":
            return known.mean(0)
        if name == "random":
            return torch.randn_like(known[0]) * DEVIATION
        if name == "xavier":
            return nn.init.xavier_normal_(torch.empty_like(known[:1]))[0]
        raise RotaError(
            f"The vector of a new task expects the name of a task, or {', '.join(BEGINNINGS)}. Found '{name}'. Choose "
            f"one of {', '.join([*self, *BEGINNINGS])}."
        )

    def add_task(self, task: str, init: str) -> None:
        """A vector for a new task; see `beginning`."""
        self.vectors[task] = nn.Parameter(self.beginning(init))
