"""Execute a training step, one operation after the other."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from rota.arrays import Ids
from rota.engine._clip import ClippedSum
from rota.engine._engine import AfterUpdate
from rota.engine._learner import Learner, restore
from rota.engine._probe import Passes, RowMeasure, probe
from rota.engine._repeatable import repeatably
from rota.engine._step import AsyncScalars, Outcome, StepPlan, TaskBatch
from rota.errors import RotaError
from rota.signals import View
from rota.tasks import Batch, Rows, RowStats, Task
from rota.turns import give_way

LossPart = tuple[Tensor, int | Tensor]
"""A process's sum of the losses of a part, and what the sum over all processes is divided by."""


class EagerEngine:
    """Forward, loss, backward, clipping, optimizer step; gradients and losses are averaged over processes.

    The loss of a task is the mean over the rows of its whole batch, or over their tokens, however these are spread
    over processes and forward passes: a smaller last batch or an uneven split changes nothing.

    Args:
        learner: What is trained.

    >>> from rota.data import load_tasks
    >>> from rota.models import MultiTaskModel, SmallConv
    >>> from rota.policies import uniform
    >>> from rota.streams import TaskStream
    >>> from rota.testing import access_to
    >>> tasks = load_tasks(["digits"])[:2]
    >>> engine = access_to(MultiTaskModel(SmallConv(tasks[0].inputs.side), tasks), tasks).engine
    >>> plan = TaskStream(tasks, uniform([task.name for task in tasks]), batch_size=16).next(step=0)
    >>> type(engine).__name__, len(engine.update(plan).numbers.tolist()), engine.learner.ledger.train
    ('EagerEngine', 1, 16)
    """

    captured, captures, capture_seconds = False, 0, 0.0
    fallback: str | None = None

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self._settings, self._accelerator, self._device = learner.settings, learner.accelerator, learner.device
        self._on_cpu = self._device.type == "cpu"

    def update(self, plan: StepPlan, after_update: AfterUpdate | None = None) -> Outcome:
        """One update of the model."""
        give_way()
        learner, batches = self.learner, [self._pieces(part) for part in plan.parts]
        buffers = learner.buffers() if self._settings.on_nan == "skip" else []
        if self._on_cpu:  # whose kernels all repeat
            sums = self._backward(plan.parts, batches)
        else:
            sums = repeatably(functools.partial(self._backward, plan.parts, batches))
        losses = self._means(sums)
        if self._settings.delay:
            losses = learner.unless_broken(losses)
        elif not self._usable(losses):
            learner.stepper.zero_grad(set_to_none=True)
            restore(buffers)
            return Outcome(AsyncScalars(losses), skipped=True)
        learner.set_rate(learner.rate_at(plan))
        if self._settings.optimizer_per_task:
            learner.optimizer_states.take([part.task for part in plan.parts])
        learner.stepper.step()
        learner.count(plan)
        if after_update is None:
            return Outcome(AsyncScalars(losses))
        values = []
        for k, part in enumerate(plan.parts):
            again = functools.cache(functools.partial(self._again, part, batches[k]))
            values.append(after_update(View(part.task, plan.step, losses[k], again, None, learner.units[part.task])))
        return Outcome(AsyncScalars(torch.cat([losses, torch.stack(values)])))

    def probe(
        self, task: Task, rows: Rows, ids: Ids, most: int, measure: RowMeasure, passes: Passes | None = None
    ) -> RowStats:
        """A measure of rows in a forward pass, in the mode that the model is in; see `Probe`."""
        return probe(self.learner.model, task, rows, ids, most, measure, passes)

    def tell_fallback_to(self, tell: Callable[[str], None]) -> None:
        """Nothing to tell: it is what was asked for."""

    def close(self) -> None:
        """Leave the model as any other."""

    def state_dict(self) -> dict[str, Any]:
        return self.learner.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.learner.load_state_dict(state)

    def again(self, part: TaskBatch) -> Tensor:
        """Mean loss of the rows of a part after the update, in training mode."""
        return self._again(part, self._pieces(part))

    def _pieces(self, part: TaskBatch) -> list[Batch]:
        """The batches of this process, one for each forward pass."""
        batch = part.batch if self._on_cpu else part.batch.to(self._device)
        return [batch] if self._settings.accumulate == 1 else batch.split(self._settings.accumulate)

    def _backward(self, parts: Sequence[TaskBatch], batches: list[list[Batch]]) -> list[LossPart]:
        """Add up the gradients of all forward passes; return for each part this process's sum of losses, and what the
        sum over all processes is divided by."""
        learner = self.learner
        learner.stepper.zero_grad(set_to_none=True)
        if self._settings.clip_each and len(parts) > 1:
            return self._backward_each(parts, [own[0] for own in batches])
        sums: list[LossPart] = []
        for part, own in zip(parts, batches, strict=True):
            # Gradients are averaged over processes, hence their number in the factor.
            whole = learner.whole(part, own)
            factor = part.weight * self._accelerator.num_processes / whole
            totals, left = [], part.counted
            for number, batch in enumerate(own, start=1):
                # Processes exchange gradients at the end of a part: the next one does not use this head. Where each has
                # a part of the model, after every pass, since none has room for a whole gradient.
                last = number == len(own) or learner.sharded
                with contextlib.nullcontext() if last else self._accelerator.no_sync(learner.wrapped):
                    losses = learner.losses(learner.wrapped, part.task, batch)[:left]
                    total = learner.total(part.task, losses, [batch])
                    scaled = total * factor
                    self._accelerator.backward(scaled) if learner.scales else scaled.backward()
                totals.append(total.detach())
                left -= len(losses)
            sums.append((torch.stack(totals).sum(), whole))
        return sums

    def _backward_each(self, parts: Sequence[TaskBatch], batches: list[Batch]) -> list[LossPart]:
        """The same, with the gradient of each part clipped before they are added up."""
        learner = self.learner
        if self._accelerator.num_processes > 1:
            raise RotaError("Settings(clip_each=True) expects one process. Found several. Leave it out.")
        sums: list[LossPart] = []
        clipped = ClippedSum(learner.parameters, self._settings.clip)
        for part, batch in zip(parts, batches, strict=True):
            total = learner.total(part.task, learner.losses(learner.model, part.task, batch), [batch])
            whole = learner.whole(part, [batch])
            clipped.add(total / whole, part.weight)
            sums.append((total.detach(), whole))
        clipped.give()
        return sums

    def _means(self, sums: Sequence[LossPart]) -> Tensor:
        total = torch.stack([own for own, _ in sums])
        if self._accelerator.num_processes > 1:
            total = self._accelerator.reduce(total, reduction="sum")
        if any(isinstance(whole, Tensor) for _, whole in sums):
            return total / torch.stack([torch.as_tensor(whole, device=total.device) for _, whole in sums])
        rows = torch.tensor([whole for _, whole in sums], dtype=total.dtype)
        return total / rows.to(total.device, non_blocking=True)

    def _usable(self, losses: Tensor) -> bool:
        """Clip the gradient; say whether it and the losses are numbers."""
        # The loss comes first: a gradient scaler that has looked at its gradients expects a step to follow.
        if not torch.isfinite(losses).all():
            return False
        return bool(torch.isfinite(self.learner.clip())) or self.learner.scales

    @torch.no_grad()
    def _again(self, part: TaskBatch, batches: list[Batch]) -> Tensor:
        learner = self.learner
        learner.ledger.scored += len(part.ids)
        buffers = learner.buffers()  # a batch norm counts the rows of an update once
        losses = torch.cat([learner.losses(learner.model, part.task, batch) for batch in batches])[: part.counted]
        restore(buffers)
        return self._means([(learner.total(part.task, losses, batches), learner.whole(part, batches))])[0]
