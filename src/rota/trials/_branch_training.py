"""Training in rounds: segments that are trained, looked at, and kept or taken back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from rota.errors import unknown_name
from rota.streams import batches_in_round
from rota.trials._states import BranchStates, Memory

LEAST = 1e-6
"""What no weight falls below: a negative weight would train a task away."""

JOINT = " joint"
"""The branch of steps with all tasks; begins with a space, which no name of a task does."""


@dataclass(frozen=True)
class Segment:
    """Some updates that belong together.

    Args:
        weights: The tasks in them, with the weights of their losses.
        steps: How many updates.
        batches: How many batches each task has, spread over the updates; one in each where it says nothing.
        again: Whether tasks begin with the rows with which the round began: what was trained on them is taken back.

    >>> from rota.trials import DIW
    >>> model = nn.Linear(2, 1)
    >>> trial = DIW(model, torch.optim.SGD(model.parameters()), {"rte": 40, "mnli": 90}, "rte", fraction=0.1)
    >>> trial.next(left=100)  # first a branch of one task, with a tenth of its batches
    Segment(weights={'rte': 1.0}, steps=4, batches=None, again=True)
    """

    weights: Mapping[str, float]
    steps: int
    batches: Mapping[str, int] | None = None
    again: bool = False


class Target(Protocol):
    """What counts in the end, asked with the parameters as they are at that moment; dropout is off.

    >>> class Origin:  # wants the weights of a model to be small
    ...     def __init__(self, model):
    ...         self.weight = model.weight
    ...
    ...     def gradient(self):
    ...         self.weight.grad = 2 * self.weight.detach()
    ...         return self.loss()
    ...
    ...     def loss(self):
    ...         return float(self.weight.detach().square().sum())
    ...
    ...     def score(self):
    ...         return 1 / (1 + self.loss())
    >>> target: Target = Origin(nn.Linear(2, 1))
    >>> target.gradient() == target.loss(), 0 < target.score() < 1
    (True, True)
    """

    def gradient(self) -> float:
        """Leave the gradient of the dev loss in the parameters, and return the loss."""

    def loss(self) -> float:
        """The dev loss alone."""

    def score(self) -> float:
        """The dev score in [0, 1]."""


@dataclass(frozen=True)
class Asked:
    """A target of a plain loop, from two functions."""

    gradient: Callable[[], float]
    score: Callable[[], float]

    def loss(self) -> float:
        return self.gradient()


class BranchTraining(ABC):
    """Training in rounds. The caller asks for the next segment, trains it, and says so; at the border
    between two rounds the parameters are those of a model, inside of a round they may be those of a branch.

    Args:
        model: Whose parameters are moved.
        optimizer: Trains in all branches.
        batches: Batches in one pass over the rows of each task, in the order of the tasks.
        target: The task that counts.
        fraction: Share of a task's rows in a branch, ρ.
        memory: What the optimizer of a branch remembers.
        target_batches: Batches of dev rows that a gradient of the target's loss is computed of; None: all of them.

    >>> from rota.trials import DIW
    >>> model = nn.Linear(2, 1)
    >>> trial: BranchTraining = DIW(model, torch.optim.SGD(model.parameters()), {"rte": 4, "mnli": 9}, "rte")
    >>> trial.at_border, trial.mixture, trial.next(left=100).steps, trial.at_border
    (True, {'rte': 0.5, 'mnli': 0.5}, 4, False)
    """

    name: str

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        batches: Mapping[str, int],
        target: str,
        *,
        fraction: float,
        memory: Memory,
        target_batches: int | None = None,
    ) -> None:
        if target not in batches:
            raise unknown_name("target", target, batches)
        self.tasks, self.target = list(batches), target
        self._batches, self._fraction = dict(batches), fraction
        self.weights = dict.fromkeys(self.tasks, 1.0)
        self.round = 0
        self.kept: Sequence[int] = ()  # of the segments of the round that ended last, those that stay
        self.target_batches = target_batches
        self.notice: str | None = None  # what whoever leads it should be told
        self._states = BranchStates(optimizer, memory, self.heir)

    @property
    def heir(self) -> str:
        """The branch whose optimizer the next round goes on with, where it goes on."""
        return self.target

    @property
    def lengths(self) -> dict[str, int]:
        """Batches of each task in this round."""
        return self._lengths(self.round)

    def _lengths(self, number: int) -> dict[str, int]:
        return batches_in_round(self._batches, self._fraction, number)

    @property
    @abstractmethod
    def at_border(self) -> bool:
        """Whether no round has begun."""

    @abstractmethod
    def next(self, left: int | None) -> Segment | None:
        """The next segment, given the number of updates left (None: as many as it takes); None if no round fits. The
        parameters are then those at which it begins."""

    @abstractmethod
    def finish(self, target: Target, left: int | None, broken: bool = False) -> dict[str, Any] | None:
        """The segment is trained; say what came out if a round is decided by it.

        Args:
            target: To be asked about the parameters.
            left: Updates that are left; None where nobody counts them.
            broken: Whether a loss in the segment was not a number.
        """

    @property
    def mixture(self) -> dict[str, float]:
        """The weights, as shares."""
        total = sum(self.weights.values())
        return {task: weight / total for task, weight in self.weights.items()}

    def describe(self) -> dict[str, Any]:
        """Its options, as plain JSON."""
        return {"method": self.name, "target": self.target, "lengths": self._lengths(0)}

    def state_dict(self) -> dict[str, Any]:
        """What it remembers beside tensors, as plain JSON."""
        return {"weights": dict(self.weights), "round": self.round}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.weights, self.round = dict(state["weights"]), state["round"]

    def tensors(self) -> dict[str, Tensor]:
        """What it remembers of parameters, for a checkpoint."""
        return {f"states/{name}": own for name, own in self._states.tensors().items()}

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        self._states.load_tensors(within(tensors, "states/"))


def within(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Those whose names begin so, without that beginning."""
    return {name.removeprefix(prefix): own for name, own in tensors.items() if name.startswith(prefix)}
