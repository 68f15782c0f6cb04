"""αVIL (Kourdis, Gordon-Hall & Gorinski): a branch per task, and the mixture of deltas that the target likes best."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

import torch
from torch import Tensor, nn

from rota.streams import steps_of_round
from rota.trials._alpha import AlphaSettings, tune
from rota.trials._branch_training import JOINT, LEAST, Asked, BranchTraining, Segment, Target, within
from rota.trials._cut_to import cut_to
from rota.trials._deltas import Deltas, Storage
from rota.trials._saved import Kept
from rota.trials._states import Memory

Merge = Literal["deltas", "joint", "both"]
"""What a round leaves: the mixture of its deltas (the paper); nothing but the weights, with which joint steps begin
again where the round began; or the mixture, and joint steps from there."""


class AlphaVIL(BranchTraining):
    """In each round every task trains a branch from the same parameters θ; then α is tuned so that θ + Σ α_i δ_i has a
    low loss on the target's dev rows, that is where training goes on, and tasks whose delta was stretched gain weight:
    w_i += α_i − 1.

    Args:
        model, optimizer, batches, target, fraction, memory, target_batches: See `BranchTraining`.
        alpha: How α is tuned.
        lengths: "data": a branch takes the same share of every task's rows, so tasks with more rows go further;
            "equal": all branches take as many updates as the target's.
        weighting: What the weights follow: "alpha" (the paper), which shrinks the longest delta most where the sum of
            all of them goes too far; or "alignment", how far a delta goes down the target's dev loss from where the
            round began: w_i += cos(δ_i, −∇L(θ)), whatever its length. Takes one gradient more.
        scaling: What the weight of a task scales: its "loss" in the branch (the paper; inert with Adam and its like,
            whose updates do not depend on the scale of a loss), or its "delta", after a branch without a weight.
        merge: What a round leaves.
        storage, only: How deltas are kept, and of which parameters; see `Deltas`.

    >>> model = nn.Linear(2, 1)
    >>> trial = AlphaVIL(model, torch.optim.SGD(model.parameters(), lr=0.1), {"rte": 4, "mnli": 8}, "rte")
    >>> trial.next(left=100)  # the first branch: four updates on rte
    Segment(weights={'rte': 0.5}, steps=4, batches=None, again=False)
    """

    name = "alphavil"

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        batches: Mapping[str, int],
        target: str,
        *,
        fraction: float = 1.0,
        memory: Memory = "reset",
        alpha: AlphaSettings | None = None,
        lengths: Literal["data", "equal"] = "data",
        weighting: Literal["alpha", "alignment"] = "alpha",
        scaling: Literal["loss", "delta"] = "loss",
        merge: Merge = "deltas",
        storage: Storage = "full",
        only: Sequence[str] | None = None,
        target_batches: int | None = None,
    ) -> None:
        super().__init__(
            model, optimizer, batches, target, fraction=fraction, memory=memory, target_batches=target_batches
        )
        self._equal = lengths == "equal"
        self._alpha, self._scaling, self._merge = alpha or AlphaSettings(), scaling, merge
        self._weighting = weighting
        kind = type(optimizer).__name__
        if scaling == "loss" and not isinstance(optimizer, torch.optim.SGD):
            self.notice = (
                f"The updates of {kind} hardly depend on the scale of a loss, so the weights of the tasks are inert, "
                f"and a round adds up {len(batches)} whole updates. Use the option scaling=delta, or sgd."
            )
        self._described = {
            **{"memory": memory, "weighting": weighting, "scaling": scaling, "merge": merge, "storage": storage},
            **{"only": only and list(only), "target_batches": target_batches},
        }
        self._deltas = Deltas(model, self.tasks, storage, only)
        self._buffers = Kept(list(model.buffers()))
        self._plan: list[tuple[str, int]] = []  # the branches of this round, and their updates
        self._place = 0  # among them
        self._norms: dict[str, float | None] = {}

    @property
    def at_border(self) -> bool:
        return not self._plan

    def _lengths(self, number: int) -> dict[str, int]:
        lengths = super()._lengths(number)
        return dict.fromkeys(self.tasks, lengths[self.target]) if self._equal else lengths

    def next(self, left: int | None) -> Segment | None:
        if self.at_border:
            self._plan = self._planned(left)
            if not self._plan:
                return None
            self._place, self._norms = 0, {}
            self._deltas.open()
            self._buffers.keep("start")
        branch, steps = self._plan[self._place]
        if branch == JOINT:
            self._states.enter(JOINT)
            return Segment(self.mixture, steps, self._joint_batches(steps), again=self._merge == "joint")
        if self._place:
            self._deltas.go_back()
            self._buffers.bring("start")
        self._states.enter(branch)
        return Segment({branch: self.mixture[branch] if self._scaling == "loss" else 1.0}, steps)

    def finish(self, target: Target, left: int | None, broken: bool = False) -> dict[str, Any] | None:
        branch, _ = self._plan[self._place]
        self._states.leave(branch)
        self._place += 1
        if branch == JOINT:
            self._end_round()
            return None
        norm = math.nan if broken else self._deltas.collect(branch, self._scale(branch))
        self._norms[branch] = norm if math.isfinite(norm) else None
        if branch == self.target and self._norms[branch] is not None:
            self._buffers.keep("target")
        if len(self._norms) < len(self.tasks):
            return None
        line = self._put_together(target)
        if self._place == len(self._plan):
            self._end_round()
        return line

    def _planned(self, left: int | None) -> list[tuple[str, int]]:
        """The branches of the next round. The updates that are left are shared out among rounds of about the wished
        length, so that the last round is as long as the others."""
        joint = 0 if self._merge == "deltas" else steps_of_round(self.lengths)
        wished = {**self.lengths, **({JOINT: joint} if joint else {})}
        if left is None:
            return list(wished.items())
        if left < len(wished):
            return []
        rounds = min(max(1, round(left / sum(wished.values()))), left // len(wished))
        return list(cut_to(wished, left // rounds).items())

    def _joint_batches(self, steps: int) -> dict[str, int]:
        """As many of each task as its branch had; they may have to fit into fewer steps."""
        return {branch: min(steps, count) for branch, count in self._plan if branch != JOINT}

    def _scale(self, task: str) -> float:
        return 1.0 if self._scaling == "loss" else self.mixture[task]

    def _put_together(self, target: Target) -> dict[str, Any]:
        if "target" in self._buffers:
            self._buffers.bring("target")
        alignment = self._alignments(target)
        alpha, losses = tune(self._deltas, target.gradient, self._alpha)
        moved = len(self.tasks) > 1 or losses or alignment is not None or None in self._norms.values()
        if moved:  # otherwise a single branch is kept as it is: θ + (θ' − θ) need not be θ' to the last bit
            self._deltas.mix(alpha)
        after = target.loss() if losses else None
        moves = (alpha - 1.0).tolist() if alignment is None else alignment
        for task, move in zip(self.tasks, moves, strict=True):
            self.weights[task] = max(LEAST, self.weights[task] + move)
        line = {
            "round": self.round,
            "method": self.name,
            "target": self.target,
            "steps": {branch: steps for branch, steps in self._plan if branch != JOINT},
            "alpha": dict(zip(self.tasks, alpha.tolist(), strict=True)),
            "weights": dict(self.weights),
            "norm": {task: self._norms[task] for task in self.tasks},
            "cosine": self._cosines(),
            "alignment": alignment and dict(zip(self.tasks, alignment, strict=True)),
            "loss": {"before": losses[0] if losses else None, "after": _number(after)},
            "diverged": [task for task, norm in self._norms.items() if norm is None],
        }
        if self._merge == "joint":
            self._deltas.go_back()
            self._buffers.bring("start")
        return line

    def _alignments(self, target: Target) -> list[float] | None:
        if self._weighting == "alpha":
            return None
        self._deltas.mix(torch.zeros(len(self.tasks), dtype=torch.float64))
        target.gradient()
        found: list[float] = torch.nan_to_num(self._deltas.alignments()).tolist()
        return found

    def _cosines(self) -> dict[str, float | None]:
        cosines = self._deltas.cosines(self.target)
        known = self._norms[self.target] is not None
        return {task: cosines[task] if known and self._norms[task] is not None else None for task in self.tasks}

    def _end_round(self) -> None:
        # Branches that broke are left out of the mixture, but their rows were used, as those of a skipped step are.
        branches, joint = range(len(self.tasks)), range(len(self.tasks), len(self._plan))
        self.kept = [*(() if self._merge == "joint" else branches), *joint]
        self._plan, self.round = [], self.round + 1
        self._states.round_over()
        self._buffers.clear()

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "alpha": asdict(self._alpha), **self._described}

    def state_dict(self) -> dict[str, Any]:
        own = {"plan": [list(branch) for branch in self._plan], "place": self._place, "norms": dict(self._norms)}
        return {**super().state_dict(), **own}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._plan = [(branch, steps) for branch, steps in state["plan"]]
        self._place, self._norms = state["place"], dict(state["norms"])

    def tensors(self) -> dict[str, Tensor]:
        inside = {} if self.at_border else self._deltas.tensors()
        return {
            **super().tensors(),
            **{f"deltas/{name}": own for name, own in inside.items()},
            **{f"buffers/{name}": own for name, own in self._buffers.tensors().items()},
        }

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        super().load_tensors(tensors)
        self._deltas.load_tensors(within(tensors, "deltas/"))
        self._buffers.load_tensors(within(tensors, "buffers/"))


def alpha_vil(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    branches: Mapping[str, Callable[[float], None]],
    target: str,
    gradient: Callable[[], float],
    weights: Mapping[str, float] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """One round of αVIL in a loop of your own.

    Args:
        model, optimizer: What is trained.
        branches: Of each task what trains the model on its rows, with the loss times the weight that it is given.
        target: The task that counts.
        gradient: Leaves the gradient of the target's dev loss in the parameters (after zeroing them) and returns the
            loss.
        weights: Of the tasks, from the last round; 1 for each in the first.
        options: Of `AlphaVIL`, but for `merge`: joint steps after the round are your own. What an optimizer remembers
            from round to round needs `AlphaVIL` itself, whose memory outlives a round.

    Returns:
        What the log of a run holds of a round: among others "alpha", and "weights" for the next one.

    >>> x, y = torch.randn(64, 2, generator=torch.Generator().manual_seed(0)), torch.tensor([1.0, -1.0])
    >>> model = nn.Linear(2, 1, bias=False)
    >>> _ = nn.init.zeros_(model.weight)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> def gradient(sign=1.0, weight=1.0):
    ...     model.zero_grad()
    ...     loss = weight * (model(x)[:, 0] - sign * x @ y).square().mean()
    ...     loss.backward()
    ...     return loss.item()
    >>> def trains(sign):  # on rows of a task
    ...     return lambda weight: (gradient(sign, weight), optimizer.step())
    >>> line = alpha_vil(model, optimizer, {"rte": trains(1.0), "opposite": trains(-1.0)}, "rte", gradient)
    >>> line["alpha"]["rte"] > 1 > line["alpha"]["opposite"], line["loss"]["after"] < line["loss"]["before"]
    (True, True)
    """
    trial = AlphaVIL(model, optimizer, dict.fromkeys(branches, 1), target, merge="deltas", **options)
    if trial.notice is not None:
        warnings.warn(trial.notice, stacklevel=2)
    trial.weights.update(weights or {})
    asked, line = Asked(gradient, lambda: math.nan), None
    while line is None:
        segment = trial.next(len(branches))
        assert segment is not None
        ((task, weight),) = segment.weights.items()
        branches[task](weight)
        line = trial.finish(asked, 0)
    optimizer.zero_grad(set_to_none=True)
    return line


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
