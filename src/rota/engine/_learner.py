"""The model that learns, and all that moves it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from rota.engine._optimizer import TaskStates, make_optimizer, make_state
from rota.engine._own_objects import Trainer
from rota.engine._sharding import gathered, shard_model
from rota.engine._step import StepPlan, TaskBatch, at_least_float
from rota.runlog import Ledger
from rota.schedules import learning_rate
from rota.settings import Settings
from rota.tasks import Batch, Task


class Learner:
    """A model with its optimizer, its learning rate and its ledger: what an engine trains.

    Args:
        model: Answers `model(task, inputs)`.
        tasks: All of them, also those that are only evaluated.
        settings: How it is trained.
        accelerator: Where, and with whom.
        captured: Whether updates are captured: then the learning rate is a tensor, which a captured update reads.
        own: The user's own objects, in place of those of the settings.

    >>> from rota.data import load_tasks
    >>> from rota.models import MultiTaskModel, SmallConv
    >>> tasks = load_tasks(["digits"])[:2]
    >>> settings = Settings(steps=100, lr=0.1, warmup=0.1, schedule="linear", precision="no")
    >>> model = MultiTaskModel(SmallConv(tasks[0].inputs.side), tasks)
    >>> learner = Learner(model, tasks, settings, Accelerator(cpu=True))
    >>> [round(learner.rate_at(StepPlan(step, ())), 3) for step in (0, 9, 55)]  # warm-up, then down
    [0.01, 0.1, 0.05]
    """

    def __init__(
        self,
        model: nn.Module,
        tasks: Sequence[Task],
        settings: Settings,
        accelerator: Accelerator,
        captured: bool = False,
        own: Trainer | None = None,
    ) -> None:
        own = own or Trainer()
        own.check(model)
        self.sharded = settings.shard
        self.settings, self.accelerator, self.device = settings, accelerator, accelerator.device
        self.kinds = {task.name: task.kind for task in tasks}
        self.units = {task.name: task.kind.unit for task in tasks}
        if (
            self.device.type == "cpu"
            and not self.sharded
            and any(isinstance(module, nn.Conv2d) for module in model.modules())
        ):
            model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # convolutions take half the time
        self.rate = torch.zeros((), device=self.device) if captured else None
        if self.sharded:  # together with its optimizer, whose parameters become parts
            self.optimizer = own.optimizer or make_optimizer(model, settings)
            shard_model(model, self.optimizer, accelerator)
            self.wrapped = self.model = model
        else:
            self.wrapped = accelerator.prepare_model(model)
            self.model = accelerator.unwrap_model(self.wrapped)
            self.optimizer = own.optimizer or make_optimizer(self.model, settings, self.rate)
        # All of it: what `from_pretrained` returns is in evaluation mode, and would be trained without its dropout.
        self.model.train()
        self.parameters = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self._scheduler, self._keeps_rate = own.scheduler, own.optimizer is not None
        self.optimizer_states = TaskStates(self.optimizer, settings.optimizer_per_task)
        names = {id(own): name for name, own in self.model.named_parameters()}  # now: gathered ones are other objects
        self._names = [names.get(id(own), "") for group in self.optimizer.param_groups for own in group["params"]]
        # Accelerate's wrapper scales gradients for fp16; otherwise it only costs, at every step.
        self.scales = settings.precision == "fp16"
        self.stepper = accelerator.prepare_optimizer(self.optimizer) if self.scales else self.optimizer
        self._highest_rate = settings.highest_rate
        warmup = round(settings.warmup * settings.steps)
        self._schedule = learning_rate(settings.schedule, warmup, settings.steps)
        self.falls = 0  # of the learning rate, where it follows evaluations
        self.ledger = Ledger()

    def losses(self, model: nn.Module, task: str, batch: Batch) -> Tensor:
        """The loss of each row."""
        return self.kinds[task].losses(at_least_float(model(task, batch.inputs)), batch.labels)

    def total(self, task: str, losses: Tensor, batches: Sequence[Batch]) -> Tensor:
        """The sum of the losses of rows, the first ones of these batches, each as often as it counts."""
        weights = self._weights(task, batches)
        return losses.sum() if weights is None else (losses * weights[: len(losses)]).sum()

    def whole(self, part: TaskBatch, batches: Sequence[Batch]) -> int | Tensor:
        """What the sum of the losses of a part, over all processes and forward passes, is divided by: its rows, or what
        they count."""
        weights = self._weights(part.task, batches)
        if weights is None:
            return len(part.ids)
        total = weights[: part.counted].sum()
        if self.accelerator.num_processes > 1:
            total = self.accelerator.reduce(total, reduction="sum")
        return total.clamp(min=1)

    def _weights(self, task: str, batches: Sequence[Batch]) -> Tensor | None:
        each = [self.kinds[task].weights(batch.labels) for batch in batches]
        return torch.cat([own for own in each if own is not None]) if each[0] is not None else None

    def rate_at(self, plan: StepPlan) -> float:
        """The learning rate of a step."""
        rate = self._highest_rate * self._schedule(plan.step if plan.scheduled is None else plan.scheduled)
        return rate * self.settings.decay_by**self.falls

    def set_rate(self, rate: float) -> None:
        """For an update that is not captured."""
        if self._keeps_rate:
            return  # the learning rate of an optimizer of somebody's own is his
        if self.rate is not None:
            make_state(self.optimizer, self.rate)  # an eager step may come before the first captured one
            self.rate.fill_(rate)
            return
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def clip(self) -> Tensor:
        """Limit the norm of the gradient; return what it was."""
        limit = math.inf if self.settings.clip is None else self.settings.clip
        if self.scales:
            return self.accelerator.clip_grad_norm_(self.parameters, limit)
        return gathered(nn.utils.clip_grad_norm_(self.parameters, limit))

    def unless_broken(self, losses: Tensor) -> Tensor:
        """Clip the gradient; losses that are read late are none if it is none, since the weights are gone by then."""
        norm = self.clip()
        return losses if self.scales else torch.where(norm.isfinite(), losses, torch.nan)

    def count(self, plan: StepPlan) -> None:
        """An update was made."""
        if self._scheduler is not None:
            self._scheduler.step()
        self.ledger.updates += 1
        for part in plan.parts:
            self.ledger.train += len(part.ids)
            self.ledger.tokens += part.tokens or 0

    def buffers(self) -> list[tuple[Tensor, Tensor]]:
        """What a forward pass may change beside gradients, with copies."""
        return [(buffer, buffer.clone()) for buffer in self.model.buffers()]

    def state_dict(self) -> dict[str, Any]:
        """What it remembers beside the tensors of model and optimizer."""
        scaler = self.accelerator.scaler.state_dict() if self.scales else None
        scheduler = {"scheduler": self._scheduler.state_dict()} if self._scheduler is not None else {}
        return {"ledger": self.ledger.as_dict(), "scaler": scaler, **scheduler, "parameters": self.parameter_names()}

    def parameter_names(self) -> list[str]:
        """What the model calls the parameters, in the order in which the optimizer counts them."""
        return self._names

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.ledger = Ledger.from_dict(state["ledger"])
        if self._scheduler is not None:
            self._scheduler.load_state_dict(state["scheduler"])
            for group, rate in zip(self.optimizer.param_groups, self._scheduler.get_last_lr(), strict=True):
                group["lr"] = rate
        if self.scales:
            self.accelerator.scaler.load_state_dict(state["scaler"])
        if self.rate is not None:
            for group in self.optimizer.param_groups:
                group["lr"] = self.rate  # captured updates read this one


def restore(buffers: list[tuple[Tensor, Tensor]]) -> None:
    """The buffers are again what they were when they were copied."""
    for buffer, copy in buffers:
        buffer.copy_(copy)
