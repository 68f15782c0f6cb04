"""What training on each task did to the parameters, and mixtures of it."""

from __future__ import annotations

import fnmatch
import functools
import math
from collections.abc import Iterator, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from rota.errors import RotaError
from rota.trials._flat import Flat

Storage = Literal["full", "bfloat16", "cpu"]
"""How deltas are kept: as the parameters are, in half the memory, or away from the GPU."""

CHUNK = 2**20
"""Columns of the deltas that are converted at a time, where they are kept in another type or place."""


class Deltas:
    """The parameters θ at the fork, and for each task the way δ_i that its branch went.

    Beyond the model it keeps n + 2 vectors of the size of the trainable parameters: θ, the deltas of n tasks, and one
    for work. In bfloat16 it is n/2 + 2; with `only`, the deltas are those of a part of the parameters, and of the rest
    only their sum is kept.

    Args:
        model: Whose trainable parameters.
        tasks: Who has a branch.
        storage: How the deltas are kept.
        only: Patterns of parameter names such as "encoder.layer.5.*"; other parameters have the sum of all deltas
            added, whatever the mixture.

    >>> model = nn.Linear(1, 1, bias=False)
    >>> _ = nn.init.zeros_(model.weight)
    >>> deltas = Deltas(model, ["rte", "mnli"])
    >>> deltas.open()
    >>> _ = nn.init.constant_(model.weight, 3.0)  # as if it were trained on rte
    >>> deltas.collect("rte")
    3.0
    >>> deltas.mix(torch.tensor([0.5, 1.0]))
    >>> model.weight.item()
    1.5
    """

    def __init__(
        self, model: nn.Module, tasks: Sequence[str], storage: Storage = "full", only: Sequence[str] | None = None
    ) -> None:
        self.tasks = list(tasks)
        mixed, rest = _parted(model, only)
        self._mixed, self._rest = Flat(mixed), Flat(rest)
        self._device = mixed[0].device
        # The widest type among the parameters: nothing is lost on the way.
        self._dtype = functools.reduce(torch.promote_types, (own.dtype for own in (*mixed, *rest)), torch.float32)
        self._storage = storage
        self._base: Tensor | None = None

    def open(self) -> None:
        """The parameters as they are now are those at the fork."""
        if self._base is None:
            self._allocate()
        self._mixed.read(self._base_of_mixed)
        self._rest.read(self._base_of_rest)
        self._deltas.zero_()
        self._sum.zero_()

    def go_back(self) -> None:
        """The parameters are those at the fork again."""
        self._mixed.write(self._base_of_mixed)
        self._rest.write(self._base_of_rest)

    def collect(self, task: str, scale: float = 1.0) -> float:
        """Take in where the branch of a task arrived; return the length of its way. One that is not a number (its
        training broke) is left out."""
        way = self._work
        self._mixed.read(way)
        way.sub_(self._base_of_mixed).mul_(scale)
        other = torch.empty_like(self._sum)
        self._rest.read(other)
        other.sub_(self._base_of_rest).mul_(scale)
        length = float(torch.hypot(torch.linalg.vector_norm(way), torch.linalg.vector_norm(other)))
        if math.isfinite(length):
            self._deltas[self.tasks.index(task)].copy_(way)
            self._sum.add_(other)
        return length

    def mix(self, alpha: Tensor) -> None:
        """The parameters are θ + Σ α_i δ_i."""
        mixed = self._work
        if self._deltas.dtype == mixed.dtype and self._deltas.device == mixed.device:
            torch.addmv(self._base_of_mixed, self._deltas.t(), alpha.to(mixed), out=mixed)
        else:
            for part, deltas in self._chunks():
                torch.addmv(self._base_of_mixed[part], deltas.t(), alpha.to(mixed), out=mixed[part])
        self._mixed.write(mixed)
        self._rest.write(self._base_of_rest + self._sum)

    def slopes(self) -> Tensor:
        """How fast a loss rises with each α_i: the products of the gradient, which the parameters hold, with the
        deltas."""
        gradient = self._work
        self._mixed.read_gradient(gradient)
        if self._deltas.dtype == gradient.dtype and self._deltas.device == gradient.device:
            return torch.mv(self._deltas, gradient)
        parts = [torch.mv(deltas, gradient[part]) for part, deltas in self._chunks()]
        return torch.stack(parts).sum(0) if parts else torch.zeros(len(self.tasks))

    def alignments(self) -> Tensor:
        """How far each delta goes down the slope of a loss whose gradient the parameters hold: 1 straight down, −1
        straight up, 0 where there is no delta."""
        slopes = self.slopes().double().cpu()
        lengths = torch.zeros(len(self.tasks), dtype=torch.float64)
        for _, deltas in self._chunks():
            lengths += deltas.square().sum(1).double().cpu()
        steepness = torch.linalg.vector_norm(self._work).double().cpu()  # the gradient is still there
        return slopes.neg().div((lengths.sqrt() * steepness).clamp_min(torch.finfo(torch.float64).tiny))

    def cosines(self, task: str) -> dict[str, float]:
        """How far each delta goes the way of one task's: 1 the same way, −1 the opposite, 0 where there is none."""
        own = self.tasks.index(task)
        products = torch.zeros(len(self.tasks), dtype=torch.float64)
        squares = torch.zeros(len(self.tasks), dtype=torch.float64)
        for _, deltas in self._chunks():
            products += torch.mv(deltas, deltas[own]).double().cpu()
            squares += deltas.square().sum(1).double().cpu()
        cosines = products / (squares * squares[own]).sqrt().clamp_min(torch.finfo(torch.float64).tiny)
        return dict(zip(self.tasks, cosines.tolist(), strict=True))

    def tensors(self) -> dict[str, Tensor]:
        """What it remembers between the fork and the mixture, for a checkpoint."""
        return {} if self._base is None else {"base": self._base, "deltas": self._deltas, "sum": self._sum}

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        """Go on from there."""
        if tensors:
            self._allocate()
            for name, own in self.tensors().items():
                own.copy_(tensors[name])

    def _allocate(self) -> None:
        make = functools.partial(torch.zeros, dtype=self._dtype, device=self._device)
        self._base = make(self._mixed.size + self._rest.size)
        self._work, self._sum = make(self._mixed.size), make(self._rest.size)
        self._deltas = torch.zeros(
            (len(self.tasks), self._mixed.size),
            dtype=torch.bfloat16 if self._storage == "bfloat16" else self._dtype,
            device="cpu" if self._storage == "cpu" else self._device,
        )

    @property
    def _base_of_mixed(self) -> Tensor:
        assert self._base is not None, "open() comes first"
        return self._base[: self._mixed.size]

    @property
    def _base_of_rest(self) -> Tensor:
        assert self._base is not None, "open() comes first"
        return self._base[self._mixed.size :]

    def _chunks(self) -> Iterator[tuple[slice, Tensor]]:
        """The deltas, a part of the columns at a time, in the type and place of the parameters."""
        for start in range(0, self._mixed.size, CHUNK):
            part = slice(start, min(start + CHUNK, self._mixed.size))
            yield part, self._deltas[:, part].to(self._work)


def _parted(model: nn.Module, only: Sequence[str] | None) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    named = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    if only is None:
        return [parameter for _, parameter in named], []
    chosen = {name for name, _ in named if any(fnmatch.fnmatch(name, pattern) for pattern in only)}
    if not chosen:
        raise RotaError(
            f"Expected patterns of parameter names such as {named[0][0]} or encoder.*. Found {', '.join(only)}, which "
            f"no trainable parameter has."
        )
    return [own for name, own in named if name in chosen], [own for name, own in named if name not in chosen]
