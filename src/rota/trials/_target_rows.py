"""The dev rows of the task that counts, as something to be asked between updates."""

from __future__ import annotations

import functools
from typing import Any

import torch

from rota.arrays import Ids
from rota.draws import Queue
from rota.engine import at_least_float, repeatably
from rota.errors import RotaError
from rota.evaluation import RunAccess, by_length, evaluate, usual_rows
from rota.models import able_to_go_back, evaluating
from rota.tasks import Batch, Task


class TargetRows:
    """Loss, gradient and score of the target's dev rows, without dropout. In several processes each asks about all of
    them, so that all of them know the same.

    Args:
        run: Whose model is asked.
        task: The target.
        batches: Batches that a gradient is computed of; None for all rows, as in the paper.
    """

    def __init__(self, run: RunAccess, task: Task, batches: int | None = None) -> None:
        if not task.size("dev"):
            raise RotaError(f"The target '{task.name}' expects dev rows, on which it is tuned. Found none.")
        self._run, self._learner, self._task, self._rows = run, run.engine.learner, task, task.splits["dev"]
        self._most = run.settings.eval_batch_size or usual_rows(run.model, self._rows)
        self._wanted = batches
        self._queue = Queue(task.name, len(self._rows), min(self._most, len(self._rows)), run.seed)

    def gradient(self) -> float:
        """Leave the gradient of the mean dev loss in the parameters; return the loss."""
        model, batches = self._run.model, self._batches()
        self._learner.optimizer.zero_grad(set_to_none=True)
        self._learner.ledger.dev_trained += sum(len(batch) for batch in batches)
        count = sum(self._weight(batch) for batch in batches)
        with evaluating(model), able_to_go_back(model):
            losses = [repeatably(functools.partial(self._backward, batch, count)) for batch in batches]
        return float(torch.stack(losses).sum())

    def forget(self) -> None:
        """Drop the gradient, which no captured step would."""
        self._learner.optimizer.zero_grad(set_to_none=True)

    def loss(self) -> float:
        """The mean dev loss."""
        loss = self._evaluated()["loss"]
        return float("nan") if loss is None else float(loss)

    def score(self) -> float:
        """The dev score."""
        return float(self._evaluated()["score"])

    def state_dict(self) -> dict[str, Any]:
        return {"consumed": self._queue.consumed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._queue.consumed = state["consumed"]

    def _evaluated(self) -> dict[str, Any]:
        self._run.charge(len(self._rows))
        result = evaluate(self._run.model, [self._task], "dev", self._most, probe=self._run.probe)
        found: dict[str, Any] = result["tasks"][self._task.name]
        return found

    def _batches(self) -> list[Batch]:
        return self._all if self._wanted is None else [self._moved(self._queue.next()) for _ in range(self._wanted)]

    @functools.cached_property
    def _all(self) -> list[Batch]:
        """All rows, made once, since they are asked again and again."""
        order = by_length(self._rows)
        return [self._moved(order[start : start + self._most]) for start in range(0, len(order), self._most)]

    def _moved(self, ids: Ids) -> Batch:
        return self._rows.batch(ids).to(self._learner.device)

    def _weight(self, batch: Batch) -> int:
        """Its rows, or what they count in the mean."""
        weights = self._task.kind.weights(batch.labels)
        return len(batch) if weights is None else int(weights.sum())

    def _backward(self, batch: Batch, count: int) -> torch.Tensor:
        with self._learner.accelerator.autocast():
            outputs = self._run.model(self._task.name, batch.inputs)
        losses = self._task.kind.losses(at_least_float(outputs), batch.labels)
        loss = self._learner.total(self._task.name, losses, [batch]) / count
        loss.backward()
        return loss.detach()
