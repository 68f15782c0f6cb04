"""Measures gradients in one run."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import Tensor

from rota.arrays import Ids
from rota.draws import Queue
from rota.engine import at_least_float, repeatably
from rota.errors import RotaError
from rota.evaluation import RunAccess
from rota.feedback import Feedback
from rota.models import able_to_go_back, evaluating
from rota.runlog import Ledger
from rota.seeds import integer
from rota.sources._gradients import VARIANCE, Gradients
from rota.sources._source import Feed, Moment, Said
from rota.tasks import Rows, Task

PartialGradient = list[Tensor | None]


class GradientFeed(Feed):
    """Remembers which rows it has looked at. In several processes each looks at all of them, so that all know the same.

    Args:
        source: What to measure, and when.
        run: Whose model is asked.
    """

    def __init__(self, source: Gradients, run: RunAccess) -> None:
        self._source, self._run = source, run
        self._tasks = {task.name: task for task in run.tasks}
        seed = integer(run.seed, "gradients")
        self._queues = {
            name: Queue(name, task.size(), 2 * source.rows, seed, partial="fill") for name, task in self._tasks.items()
        }
        if source.target is not None:
            target = self._tasks[source.target]
            if not target.size("dev"):
                raise RotaError(f"The target '{target.name}' expects dev rows, for its gradient. Found none.")
            self._dev = Queue(target.name, target.size("dev"), 2 * source.rows, seed, partial="fill")

    def at_step_end(self, moment: Moment) -> Said | None:
        assert self._source.every is not None, "`for_run` has filled it in"
        if moment.done % self._source.every or moment.last:
            return None
        with evaluating(self._run.model), able_to_go_back(self._run.model):
            found = self._measured()
        says, feedback = self._source.says, []
        for task, own in found.items():
            feedback.append(Feedback(task, own["value"], None, moment.done, about=says))
            if "variance" in own:
                feedback.append(Feedback(task, own["variance"], None, moment.done, about=VARIANCE))
        return Said(feedback, {"kind": "gradient", "step": moment.done, "tasks": found}, mixture=True)

    def _measured(self) -> dict[str, dict[str, float]]:
        """Of each task what its policy is to hear."""
        rows, target = self._source.rows, self._source.target
        wanted = None
        if target is not None:
            wanted = self._gradient(self._tasks[target], self._tasks[target].splits["dev"], self._dev.next())
        found: dict[str, dict[str, float]] = {}
        for name, task in self._tasks.items():
            ids, split = self._queues[name].next(), task.splits["train"]
            if wanted is not None:
                found[name] = {"value": _product(self._gradient(task, split, ids), wanted)}
                continue
            one, other = self._gradient(task, split, ids[:rows]), self._gradient(task, split, ids[rows:])
            apart: PartialGradient = [
                None if a is None or b is None else a - b for a, b in zip(one, other, strict=True)
            ]
            found[name] = {"value": _product(one, other), "variance": rows * _product(apart, apart) / 2}
        return found

    def _gradient(self, task: Task, rows: Rows, ids: Ids) -> PartialGradient:
        """Of the mean loss of these rows; None for a parameter that it does not depend on."""
        learner = self._run.engine.learner
        self._run.charge((1 + Ledger.BACKWARD) * len(ids))
        return repeatably(functools.partial(self._differentiated, task, rows, ids, learner.parameters))

    def _differentiated(self, task: Task, rows: Rows, ids: Ids, parameters: Sequence[Tensor]) -> PartialGradient:
        learner, batch = self._run.engine.learner, rows.batch(ids).to(self._run.engine.learner.device)
        with learner.accelerator.autocast():
            outputs = self._run.model(task.name, batch.inputs)
        losses, weights = task.kind.losses(at_least_float(outputs), batch.labels), task.kind.weights(batch.labels)
        loss = losses.mean() if weights is None else (losses * weights).sum() / weights.sum().clamp(min=1)
        return list(torch.autograd.grad(loss, parameters, allow_unused=True))

    def state_dict(self) -> dict[str, Any]:
        dev = {"dev": self._dev.consumed} if self._source.target is not None else {}
        return {"consumed": {name: queue.consumed for name, queue in self._queues.items()}, **dev}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, queue in self._queues.items():
            queue.consumed = state["consumed"].get(name, 0)
        if "dev" in state:
            self._dev.consumed = state["dev"]

    def carried(self, state: dict[str, Any], tasks: Collection[str]) -> dict[str, Any]:
        return {**state, "consumed": {name: own for name, own in state["consumed"].items() if name in tasks}}


def _product(one: PartialGradient, other: PartialGradient) -> float:
    """Of the parts that both depend on. Added up in double precision: there are millions of small numbers."""
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    return float(torch.stack([(a.double() * b.double()).sum() for a, b in pairs]).sum()) if pairs else 0.0
