"""DIW (Sivasankaran et al. 2017): weights from what each task does to the target, tried out until the target gains.

The formula of the weights is not printed anywhere; this is a reconstruction from the description in the αVIL paper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from rota.streams import steps_of_round
from rota.trials._branch_training import JOINT, LEAST, Asked, BranchTraining, Segment, Target, within
from rota.trials._saved import Kept
from rota.trials._states import Memory


class DIW(BranchTraining):
    """In each round every task trains a branch from the same parameters, without a weight, which gives the target a
    score a_i. Then joint steps are tried from there, on the same rows; after a try, w_i += lr · (a_i − a_joint). The
    first try that beats the score of the last round is kept, and the best one where none does. Only these rows count as
    trained on: each task gives as many in a round as in one of αVIL.

    Args:
        model, optimizer, batches, target, fraction, memory: See `BranchTraining`.
        lr: Of the weights. Scores are in [0, 1]: a task whose branch is a point (0.01) above the try gains a hundredth
            of it.
        patience: Tries that do not beat the score of the last round, after which the best one is kept.
        before: The target's score that the first round has to beat; None: any will do.

    >>> model = nn.Linear(2, 1)
    >>> trial = DIW(model, torch.optim.SGD(model.parameters(), lr=0.1), {"rte": 4, "mnli": 8}, "rte", patience=3)
    >>> trial.next(left=100), trial.describe()["patience"]
    (Segment(weights={'rte': 1.0}, steps=4, batches=None, again=True), 3)
    """

    name = "diw"

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        batches: Mapping[str, int],
        target: str,
        *,
        fraction: float = 1.0,
        memory: Memory = "reset",
        lr: float = 0.1,
        patience: int = 10,
        before: float | None = None,
    ) -> None:
        super().__init__(model, optimizer, batches, target, fraction=fraction, memory=memory)
        self._lr, self._patience = lr, patience
        self._described = {"memory": memory, "lr": lr, "patience": patience}
        self._places = Kept([*(own for own in model.parameters() if own.requires_grad), *model.buffers()])
        self._scores: dict[str, float | None] | None = (
            None  # of the branches, None of a broken one; None between rounds
        )
        self._tries: list[float | None] = []
        self._before = before  # the target's score at the end of the last round

    @property
    def heir(self) -> str:
        return JOINT

    @property
    def at_border(self) -> bool:
        return self._scores is None

    @property
    def _joint(self) -> int:
        """Updates of a try, which has as many batches of a task as its branch."""
        return steps_of_round(self.lengths)

    def next(self, left: int | None) -> Segment | None:
        if self._scores is None:
            if left is not None and left < sum(self.lengths.values()) + self._joint:
                return None
            self._scores, self._tries = {}, []
            self._places.keep("start")
        else:
            self._places.bring("start")
        branch = next((task for task in self.tasks if task not in self._scores), JOINT)
        self._states.enter(branch)
        if branch == JOINT:
            usable = {task: self.lengths[task] for task in self._usable}
            weights = {task: self.mixture[task] for task in usable}
            return Segment(weights, steps_of_round(usable), usable, again=True)
        return Segment({branch: 1.0}, self.lengths[branch], again=True)

    @property
    def _usable(self) -> list[str]:
        """The tasks whose branch did not break."""
        return [task for task, score in (self._scores or {}).items() if score is not None]

    def finish(self, target: Target, left: int | None, broken: bool = False) -> dict[str, Any] | None:
        assert self._scores is not None
        score = None if broken else target.score()
        waiting = [task for task in self.tasks if task not in self._scores]
        if waiting:
            self._states.leave(waiting[0])
            self._scores[waiting[0]] = score
            return None if waiting[1:] or self._usable else self._decided(None)
        best = self._heard(score)
        kept = None if best is None else self._tries[best]
        better = kept is not None and (self._before is None or kept > self._before)
        fits = left is None or left >= self._joint
        if not better and len(self._tries) < self._patience and fits:
            return None
        return self._decided(best)

    def _heard(self, score: float | None) -> int | None:
        """Take in the score of a try; return the number of the best one so far, None if all of them broke."""
        assert self._scores is not None
        scores = [own for own in self._tries if own is not None]
        if score is not None and (not scores or score > max(scores)):
            self._places.keep("best")
            self._states.leave(JOINT)
        self._tries.append(score)
        for task in self._usable:
            if score is not None:
                own = self._scores[task] or 0.0
                self.weights[task] = max(LEAST, self.weights[task] + self._lr * (own - score))
        known = [(own, -k) for k, own in enumerate(self._tries) if own is not None]
        return -max(known)[1] if known else None

    def _decided(self, best: int | None) -> dict[str, Any]:
        assert self._scores is not None
        line = {
            "round": self.round,
            "method": self.name,
            "target": self.target,
            "steps": {**self.lengths, "joint": self._joint},
            "scores": self._scores,
            "tries": self._tries,
            "kept": best,
            "weights": dict(self.weights),
            "diverged": list(self.tasks) if best is None else [t for t in self.tasks if t not in self._usable],
        }
        self.kept = () if best is None else (len(self.tasks) + best,)
        self._places.bring("start" if best is None else "best")
        self._places.clear()
        self._states.round_over()
        self._before = self._before if best is None else self._tries[best]
        self._scores, self.round = None, self.round + 1
        return line

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), **self._described}

    def state_dict(self) -> dict[str, Any]:
        scores = None if self._scores is None else dict(self._scores)
        return {**super().state_dict(), "scores": scores, "tries": list(self._tries), "before": self._before}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._scores, self._tries, self._before = state["scores"], list(state["tries"]), state["before"]

    def tensors(self) -> dict[str, Tensor]:
        return {**super().tensors(), **{f"places/{name}": own for name, own in self._places.tensors().items()}}

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        super().load_tensors(tensors)
        self._places.load_tensors(within(tensors, "places/"))


def diw(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    train: Callable[[Mapping[str, float]], None],
    tasks: list[str],
    target: str,
    score: Callable[[], float],
    weights: Mapping[str, float] | None = None,
    before: float | None = None,
    **options: Any,
) -> dict[str, Any]:
    """One round of DIW in a loop of your own.

    Args:
        model, optimizer: What is trained.
        train: Trains the model on rows of the tasks that it is given, with their losses times these weights.
        tasks, target: All of them, and the one that counts.
        score: The target's dev score in [0, 1], with the model as it is.
        weights: Of the tasks, from the last round; 1 for each in the first.
        before: The score that the last round ended with.
        options: Of `DIW`.

    Returns:
        What the log of a run holds of a round: among others "weights", and "tries" of which number "kept" is kept.

    >>> model = nn.Linear(1, 1, bias=False)
    >>> _ = nn.init.zeros_(model.weight)
    >>> ways = {"rte": 1.0, "opposite": -0.5}  # what a branch does to the only weight
    >>> def train(weights):
    ...     with torch.no_grad():
    ...         model.weight += sum(ways[task] * weight for task, weight in weights.items())
    >>> score = lambda: float(torch.sigmoid(model.weight.detach()))
    >>> line = diw(model, torch.optim.SGD(model.parameters()), train, list(ways), "rte", score)
    >>> line["scores"]["rte"] > line["scores"]["opposite"], line["weights"]["rte"] > line["weights"]["opposite"]
    (True, True)
    """
    trial = DIW(model, optimizer, dict.fromkeys(tasks, 1), target, before=before, **options)
    trial.weights.update(weights or {})
    asked, line = Asked(lambda: 0.0, score), None
    while line is None:
        segment = trial.next(None)
        assert segment is not None
        train(segment.weights)
        line = trial.finish(asked, None)
    return line
