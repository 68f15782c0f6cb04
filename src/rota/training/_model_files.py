"""How a model and its optimizer come into files, and back: whole, or in parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rota.engine import Learner, is_sharded
from rota.errors import RotaError
from rota.training._best import BestTracker
from rota.training._checkpoint import Checkpoints
from rota.training._distributed import DistributedContext
from rota.training._own_model import kept_weights, load_weights, named_once
from rota.training._sharded_checkpoints import ShardedCheckpoints
from rota.training._shards import Shards

BRANCHES = "trial"  # the file of what a stream remembers of parameters inside of a round
OPTIMIZER = "optimizer"


class HostCopy:
    """Tensors as they are now, on their way to the memory of the CPU. Nobody waits for them before they are read.

    Args:
        tensors: By name; they may be changed at once.

    >>> weights = {"head": torch.ones(2)}
    >>> copy = HostCopy(weights)
    >>> _ = weights["head"].zero_()
    >>> copy.read()["head"].tolist()
    [1.0, 1.0]
    """

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self._tensors = {
            name: tensor.detach().to("cpu", non_blocking=True, copy=True) for name, tensor in tensors.items()
        }
        self._arrived: torch.cuda.Event | None = None
        if any(tensor.is_cuda for tensor in tensors.values()):
            self._arrived = torch.cuda.Event()
            self._arrived.record()

    def read(self) -> dict[str, Tensor]:
        if self._arrived is not None:
            self._arrived.synchronize()
        return self._tensors


class ModelFiles(ABC):
    """Writes a model and its optimizer into the folder of a run, and reads them.

    Args:
        learner: Has the model and the optimizer.
        best: Knows which models are the best.
    """

    checkpoints: Checkpoints

    def __init__(self, learner: Learner, best: BestTracker) -> None:
        self._learner, self._best = learner, best

    @abstractmethod
    def remember_best(self, step: int) -> None:
        """The model as it is now is a best one."""

    @abstractmethod
    def write_best(self) -> None:
        """Write those that wait."""

    @abstractmethod
    def load_best(self, step: int) -> None:
        """The model is again the best one of a step."""

    @abstractmethod
    def save(self, step: int, branches: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Write a checkpoint, and the best models that wait."""

    @abstractmethod
    def restore(self, state: dict[str, Any], kept: Mapping[str, Any]) -> None:
        """Model and optimizer are what they were."""


class WholeModel(ModelFiles):
    """A model that each process has. The best one is written with the next checkpoint: a run that dies before it finds
    its best model again."""

    def __init__(self, checkpoints: Checkpoints, learner: Learner, best: BestTracker, writes: bool) -> None:
        super().__init__(learner, best)
        self.checkpoints, self._writes = checkpoints, writes
        self._unwritten: dict[int, HostCopy] = {}  # best models by their steps

    def remember_best(self, step: int) -> None:
        if not self._writes:
            return
        kept = self._best.kept_steps  # others are let go before there is one more
        self._unwritten = {step: own for step, own in self._unwritten.items() if step in kept}
        self._unwritten[step] = HostCopy(kept_weights(self._learner.model))

    def write_best(self) -> None:
        for step in sorted(self._unwritten.keys() & self._best.kept_steps):
            self.checkpoints.save_best(step, self._unwritten[step].read())
        self._unwritten.clear()

    def load_best(self, step: int) -> None:
        waiting = self._unwritten.get(step)
        load_weights(self._learner.model, waiting.read() if waiting else self.checkpoints.load_best(step))

    def save(self, step: int, branches: dict[str, Tensor], state: dict[str, Any]) -> None:
        if not self._writes:
            return
        self.write_best()
        learner = self._learner
        tensors = {"model": kept_weights(learner.model), OPTIMIZER: learner.optimizer_states.tensors()}
        self.checkpoints.save(step, {**tensors, **({BRANCHES: branches} if branches else {})}, state)
        self.checkpoints.prune_best(self._best.kept_steps)

    def restore(self, state: dict[str, Any], kept: Mapping[str, Any]) -> None:
        load_weights(self._learner.model, kept["model"])
        optimizer = kept[OPTIMIZER]
        assert isinstance(optimizer, dict), "whole checkpoints have whole files"
        self._learner.optimizer_states.load(optimizer)


class ShardedModel(ModelFiles):
    """A model of which each process has a part. The best one is written at once: nobody has room for a copy. What an
    optimizer has beside the parts, such as numbers of steps, is JSON in the state of the checkpoint."""

    def __init__(self, checkpoints: ShardedCheckpoints, learner: Learner, best: BestTracker) -> None:
        super().__init__(learner, best)
        self.checkpoints: ShardedCheckpoints = checkpoints
        self._known = set[int]()  # best models that the last checkpoint knows: a run that dies needs them
        self._unwritten: int | None = None  # a full disk had no room for the best model of this step

    def remember_best(self, step: int) -> None:
        self._unwritten = step
        self.checkpoints.save_best(step, kept_weights(self._learner.model))
        self._unwritten = None
        self.checkpoints.prune_best(self._known | self._best.kept_steps)

    def write_best(self) -> None:
        """None waits."""

    def load_best(self, step: int) -> None:
        self.checkpoints.best_shards(step).read_into(kept_weights(self._learner.model))

    def save(self, step: int, branches: dict[str, Tensor], state: dict[str, Any]) -> None:
        if self._unwritten == step:
            self.remember_best(step)
        model, states = self._learner.model, self._learner.optimizer_states.tensors()
        parts = {name: own for name, own in states.items() if is_sharded(own)}
        others = {name: own for name, own in states.items() if name not in parts}
        own = {
            "parts": {name: _name(part.dtype) for name, part in parts.items()},
            "others": {name: [_name(other.dtype), other.tolist()] for name, other in others.items()},
        }
        tensors = {"model": named_once(model), **({OPTIMIZER: parts} if parts else {})}
        self.checkpoints.save(step, tensors, {**state, OPTIMIZER: own})
        self._known = self._best.kept_steps
        self.checkpoints.prune_best(self._known)

    def restore(self, state: dict[str, Any], kept: Mapping[str, Any]) -> None:
        weights, own = kept["model"], state[OPTIMIZER]
        if not isinstance(weights, Shards):
            raise RotaError("Expected a checkpoint of a sharded model. Found one of a whole model.")
        weights.read_into(named_once(self._learner.model))
        states = {name: torch.tensor(value, dtype=_dtype(dtype)) for name, (dtype, value) in own["others"].items()}
        parameters = [one for group in self._learner.optimizer.param_groups for one in group["params"]]
        parts = {
            name: torch.empty_like(parameters[int(name.partition(".")[0])].detach(), dtype=_dtype(dtype))
            for name, dtype in own["parts"].items()
        }
        if parts:
            read = kept[OPTIMIZER]
            assert isinstance(read, Shards), "sharded like the model"
            read.read_into(parts)
        self._learner.optimizer_states.load({**states, **parts})
        then = BestTracker()
        then.load_state_dict(state["best"])
        self._known = then.kept_steps


def files_in(folder: Path, run: str, learner: Learner, best: BestTracker, context: DistributedContext) -> ModelFiles:
    """Those of a run, as its model is trained."""
    if learner.sharded:
        return ShardedModel(ShardedCheckpoints(folder, run, context.gather, context.shard.rank), learner, best)
    return WholeModel(Checkpoints(folder, run), learner, best, context.writes)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _dtype(name: str) -> torch.dtype:
    found = getattr(torch, name)
    if not isinstance(found, torch.dtype):
        raise RotaError(f"Expected the type of numbers that torch has. Found {name!r}.")
    return found
