"""Execute a training step, one operation after the other."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from rota.errors import RotaError
from rota.runlog import Ledger
from rota.schedules import warmup_linear
from rota.settings import Settings
from rota.signals import Signal, View
from rota.streams import Part, Turn
from rota.tasks import Batch, Facts, Ids, Rows, Task
from rota.training._optimizer import TaskStates, make_optimizer
from rota.training._repeatable import repeatably
from rota.training.engine._clip import ClippedSum
from rota.training.engine._look import Measure, Passes, look
from rota.training.engine._outcome import Late, Outcome, at_least_float


class EagerEngine:
    """Forward, loss, backward, clipping, optimizer step; gradients and losses are averaged over processes.

    The loss of a task is the mean over the rows of its whole batch, however these are spread over processes
    and forward passes: a smaller last batch or an uneven split changes nothing.
    """

    def __init__(self, model: nn.Module, tasks: Sequence[Task], settings: Settings, accelerator: Accelerator) -> None:
        self._settings, self._accelerator, self._device = settings, accelerator, accelerator.device
        self._kinds = {task.name: task.kind for task in tasks}
        if self._device.type == "cpu" and any(isinstance(module, nn.Conv2d) for module in model.modules()):
            model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # convolutions take half the time
        self._wrapped = accelerator.prepare_model(model)
        self.model: nn.Module = accelerator.unwrap_model(self._wrapped)
        # All of it: what `from_pretrained` returns is in evaluation mode, and would be trained without its dropout.
        self.model.train()
        self._parameters = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self.optimizer = self._make_optimizer()
        self.optimizer_states = TaskStates(self.optimizer, settings.optimizer_per_task)
        # Accelerate's wrapper scales gradients for fp16; otherwise it only costs, at every step.
        self._scales = settings.precision == "fp16"
        self._stepper = accelerator.prepare_optimizer(self.optimizer) if self._scales else self.optimizer
        self._schedule = warmup_linear(round(settings.warmup * settings.steps), settings.steps)
        self._last: dict[str, Tensor] = {}  # the loss of each task at its last visit, if anybody listens
        self.ledger = Ledger()

    def update(self, turn: Turn, signal: Signal | None = None) -> Outcome:
        """One update of the model."""
        batches = [part.batch.to(self._device).split(self._settings.accumulate) for part in turn.parts]
        buffers = self._buffers() if self._settings.on_nan == "skip" else []
        losses = self._means(turn.parts, repeatably(lambda: self._backward(turn.parts, batches)))
        if self._settings.delay:
            losses = self._unless_broken(losses)
        elif not self._usable(losses):
            self._stepper.zero_grad(set_to_none=True)
            restore(buffers)
            return Outcome(Late(losses), skipped=True)
        self._set_rate(self._rate_at(turn.clock))
        self.optimizer_states.take([part.task for part in turn.parts])
        self._stepper.step()
        self._count(turn)
        if signal is None:
            return Outcome(Late(losses))
        views = [
            self._view(part, turn.step, losses[k], functools.partial(self._again, part, batches[k]))
            for k, part in enumerate(turn.parts)
        ]
        return Outcome(Late(losses), Late(torch.stack([signal(view) for view in views])))

    def look(
        self, task: Task, rows: Rows, ids: Ids, most: int, measure: Measure, passes: Passes | None = None
    ) -> Facts:
        """A measure of rows in a forward pass, in the mode that the model is in; see `Look`."""
        return look(self.model, task, rows, ids, most, measure, passes)

    @property
    def captures(self) -> int:
        """Pieces of work that were captured so far."""
        return 0

    @property
    def capture_seconds(self) -> float:
        """How long that took."""
        return 0.0

    @property
    def fallback(self) -> str | None:
        """Why steps are not executed as they were to be, if so."""
        return None

    def close(self) -> None:
        """Leave the model as any other."""

    def state_dict(self) -> dict[str, Any]:
        """What it remembers beside the tensors of model and optimizer."""
        return {
            "ledger": self.ledger.as_dict(),
            "last": {task: loss.item() for task, loss in self._last.items()},
            "scaler": self._accelerator.scaler.state_dict() if self._scales else None,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.ledger = Ledger.from_dict(state["ledger"])
        dtype = torch.promote_types(torch.float32, self._parameters[0].dtype)
        self._last = {
            task: torch.tensor(loss, dtype=dtype, device=self._device) for task, loss in state["last"].items()
        }
        if self._scales:
            self._accelerator.scaler.load_state_dict(state["scaler"])

    def _make_optimizer(self, rate: Tensor | None = None) -> torch.optim.Optimizer:
        return make_optimizer(self.model, self._settings, rate)

    def _rate_at(self, step: int) -> float:
        return self._settings.highest_rate * self._schedule(step)

    def _set_rate(self, rate: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def _count(self, turn: Turn) -> None:
        self.ledger.updates += 1
        self.ledger.train += sum(len(part.ids) for part in turn.parts)

    def _view(self, part: Part, step: int, loss: Tensor, again: Callable[[], Tensor]) -> View:
        """What a signal may look at. From now on this was the task's last visit."""
        previous = self._last.get(part.task)
        self._last[part.task] = loss
        return View(part.task, step, loss, again, previous, self._kinds[part.task].unit)

    def _backward(self, parts: Sequence[Part], batches: list[list[Batch]]) -> list[Tensor]:
        """Add up the gradients of all forward passes; return this process's sum of losses for each part."""
        self._stepper.zero_grad(set_to_none=True)
        if self._settings.clip_each and len(parts) > 1:
            return self._backward_each(parts, [own[0] for own in batches])
        sums = []
        for part, own in zip(parts, batches, strict=True):
            # Gradients are averaged over processes, hence their number in the factor.
            factor = part.weight * self._accelerator.num_processes / len(part.ids)
            totals, left = [], part.counted
            for number, batch in enumerate(own, start=1):
                # Processes exchange gradients at the end of a part: the next one does not use this head.
                last = number == len(own)
                with contextlib.nullcontext() if last else self._accelerator.no_sync(self._wrapped):
                    losses = self._losses(self._wrapped, part.task, batch)[:left]
                    total = losses.sum()
                    scaled = total * factor
                    self._accelerator.backward(scaled) if self._scales else scaled.backward()
                totals.append(total.detach())
                left -= len(losses)
            sums.append(torch.stack(totals).sum())
        return sums

    def _backward_each(self, parts: Sequence[Part], batches: list[Batch]) -> list[Tensor]:
        """The same, with the gradient of each part clipped before they are added up."""
        if self._accelerator.num_processes > 1:
            raise RotaError("Clipping each task expects one process. Found several. Leave --clip-each out.")
        sums, clipped = [], ClippedSum(self._parameters, self._settings.clip)
        for part, batch in zip(parts, batches, strict=True):
            total = self._losses(self.model, part.task, batch).sum()
            clipped.add(total / len(part.ids), part.weight)
            sums.append(total.detach())
        clipped.give()
        return sums

    def _losses(self, model: nn.Module, task: str, batch: Batch) -> Tensor:
        return self._kinds[task].losses(at_least_float(model(task, batch.inputs)), batch.labels)

    def _means(self, parts: Sequence[Part], sums: list[Tensor]) -> Tensor:
        total = torch.stack(sums)
        if self._accelerator.num_processes > 1:
            total = self._accelerator.reduce(total, reduction="sum")
        rows = torch.tensor([len(part.ids) for part in parts], dtype=total.dtype)
        return total / rows.to(total.device, non_blocking=True)

    def _unless_broken(self, losses: Tensor) -> Tensor:
        """Clip the gradient; losses that are read late are none if it is none, since the weights are gone by then."""
        norm = self._clip()
        return losses if self._scales else torch.where(norm.isfinite(), losses, torch.nan)

    def _usable(self, losses: Tensor) -> bool:
        """Clip the gradient; say whether it and the losses are numbers."""
        # The loss comes first: a gradient scaler that has looked at its gradients expects a step to follow.
        return _finite(losses) and (_finite(self._clip()) or self._scales)

    def _clip(self) -> Tensor:
        """Limit the norm of the gradient; return what it was."""
        limit = math.inf if self._settings.clip is None else self._settings.clip
        if self._scales:
            return self._accelerator.clip_grad_norm_(self._parameters, limit)
        return nn.utils.clip_grad_norm_(self._parameters, limit)

    @torch.no_grad()
    def _again(self, part: Part, batches: list[Batch]) -> Tensor:
        """Mean loss of the same rows after the update, in training mode."""
        self.ledger.scored += len(part.ids)
        buffers = self._buffers()  # a batch norm counts the rows of an update once
        losses = torch.cat([self._losses(self.model, part.task, batch) for batch in batches])
        restore(buffers)
        return self._means([part], [losses[: part.counted].sum()])[0]

    def _buffers(self) -> list[tuple[Tensor, Tensor]]:
        """What a forward pass may change beside gradients, with copies."""
        return [(buffer, buffer.clone()) for buffer in self.model.buffers()]


def restore(buffers: list[tuple[Tensor, Tensor]]) -> None:
    for buffer, copy in buffers:
        buffer.copy_(copy)


def _finite(numbers: Tensor) -> bool:
    return bool(torch.isfinite(numbers).all())
