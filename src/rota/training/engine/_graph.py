"""Execute a training step as one launch: captured as a CUDA graph when it is first needed, then replayed."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from rota.settings import Settings
from rota.signals import Signal
from rota.streams import Part, Turn
from rota.tasks import Facts, Ids, Rows, Shelved, Task
from rota.training._optimizer import make_state
from rota.training.engine._capturer import Captured, Capturer
from rota.training.engine._clip import ClippedSum
from rota.training.engine._eager import EagerEngine, restore
from rota.training.engine._look import Measure, Passes
from rota.training.engine._looks import CapturedLooks
from rota.training.engine._low import LowCopies
from rota.training.engine._outcome import Late, Outcome
from rota.training.engine._pass import Pass
from rota.training.engine._shapes import Shape, padded_rows
from rota.training.engine._supply import Supply, room_on


@runtime_checkable
class Several(Protocol):
    """A model that can be asked for several tasks at once, such as `MultiTaskModel`."""

    def several(self, tasks: Sequence[str], inputs: dict[str, Tensor], owners: Tensor) -> dict[str, Tensor]: ...
    def only_for(self, task: str) -> list[nn.Parameter]: ...


class GraphEngine(EagerEngine):
    """Forward, loss, backward, clipping and optimizer step in one launch, for each task and padded length.

    Rows lie on the device and are gathered there. What a captured step cannot do is done eagerly; where the model
    cannot be captured at all, everything is, and `fallback` says why.
    """

    def __init__(
        self,
        model: nn.Module,
        tasks: Sequence[Task],
        settings: Settings,
        accelerator: Accelerator,
    ) -> None:
        super().__init__(model, tasks, settings, accelerator)
        device = accelerator.device
        self._capturer = Capturer(self.model, device, compiled=settings.engine == "compile")
        self._supply = Supply(device, room_on(device))
        half = torch.bfloat16 if settings.precision == "bf16" else None
        self._low = LowCopies(self.model, half, products=not self._capturer.compiled)
        self._looks = CapturedLooks(self.model, self._capturer, self._supply, self._low, device)
        self._trained = {task.name: task for task in tasks if task.trained}
        self._normalised = any(isinstance(module, _BatchNorm) for module in self.model.modules())

    def update(self, turn: Turn, signal: Signal | None = None) -> Outcome:
        """One update of the model."""
        step = self._step(turn)
        if step is None:
            return super().update(turn, signal)
        losses = step.replay()
        self._count(turn)
        places = [step.rows.shape.tasks.index(part.task) for part in turn.parts]
        late = Late(losses, places)
        if signal is None:
            return Outcome(late)
        losses = losses.clone()  # the next replay may overwrite them

        @functools.cache
        def again() -> Tensor:
            return self._losses_after(step, turn)

        def loss_after(k: int) -> Tensor:
            return again()[k]

        views = [
            self._view(part, turn.step, losses[k], functools.partial(loss_after, k))
            for k, part in zip(places, turn.parts, strict=True)
        ]
        return Outcome(late, Late(torch.stack([signal(view) for view in views])))

    def look(
        self, task: Task, rows: Rows, ids: Ids, most: int, measure: Measure, passes: Passes | None = None
    ) -> Facts:
        """A measure of rows in a forward pass, in the mode that the model is in when it is captured; see `Look`."""
        return self._looks(task, rows, ids, most, measure, passes)

    @property
    def captures(self) -> int:
        return self._capturer.captures

    @property
    def capture_seconds(self) -> float:
        return self._capturer.seconds

    @property
    def fallback(self) -> str | None:
        return self._capturer.reason

    def close(self) -> None:
        self._capturer.close()

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "gave_up": self.fallback if self._capturer.gave_up else None}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        if state["gave_up"]:  # a run that went on eagerly goes on eagerly
            self._capturer.give_up(state["gave_up"])
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate  # captured steps write into this one

    def _make_optimizer(self, rate: Tensor | None = None) -> torch.optim.Optimizer:
        self._rate = torch.zeros((), device=self._device)
        return super()._make_optimizer(self._rate)

    def _set_rate(self, rate: float) -> None:
        make_state(self.optimizer, self._rate)  # an eager step may come first
        self._rate.fill_(rate)

    # Finding and capturing

    def _step(self, turn: Turn) -> Captured | None:
        """The captured step for this turn, with its rows loaded; None: it has to be done eagerly."""
        shape = self._shape(turn.parts)
        if shape is None:
            return None
        # The rows of somebody's own say by their shapes what can be captured together.
        key = shape, tuple(_signature(part) for part in turn.parts if not self._is_shelved(part.task))

        def make() -> Pass:
            sources = {name: self._supply.source(self._rows_of(name), shape.rows, shape.width) for name in shape.tasks}
            return Pass(shape, self._kinds, sources, self._device)

        def load(rows: Pass) -> None:
            fetches = [functools.partial(getattr, part, "batch") for part in turn.parts]
            shares = [(p.task, p.ids, p.weight, fetch) for p, fetch in zip(turn.parts, fetches, strict=True)]
            rows.load(shares, self._rate_at(turn.clock))

        return self._capturer.obtain(key, make, load, self._train, self._prepare)

    def _shape(self, parts: Sequence[Part]) -> Shape | None:
        """The shape for these parts; None where no captured step does what they need."""
        count = sum(len(part.ids) for part in parts)
        mixed = len(parts) > 1
        if self._capturer.gave_up or (mixed and not self._mixes()):
            return None
        own = self._settings.batch_size if mixed else self._trained[parts[0].task].batch_size
        rows = padded_rows(count, own or self._settings.batch_size)
        if self._normalised and rows > count:
            return None  # the batch norm would look at the rows that fill the batch up
        width = self._supply.width([(self._rows_of(part.task), part.ids) for part in parts])
        return Shape(tuple(self._trained) if mixed else (parts[0].task,), rows, width)

    def _mixes(self) -> bool:
        """Whether steps with rows of several tasks can be captured."""
        able = isinstance(self.model, Several) and all(map(self._is_shelved, self._trained))
        if able and all(self._kinds[name].sees != "choices" for name in self._trained):
            return True
        self._capturer.reason = (
            "steps with several tasks are captured for a MultiTaskModel, and not with tasks of choices"
        )
        return False

    def _rows_of(self, task: str) -> Rows:
        return self._trained[task].splits["train"]

    def _is_shelved(self, task: str) -> bool:
        return isinstance(self._rows_of(task), Shelved)

    # The work that is captured

    def _prepare(self, rows: Pass) -> None:
        """What `_train` does, except that nothing changes; parameters get the optimizer's state that they lack."""
        self._gradients(rows)
        make_state(self.optimizer, self._rate)
        self.optimizer.zero_grad(set_to_none=True)

    def _train(self, rows: Pass) -> Tensor:
        """The whole step; returns the mean loss of each task."""
        means = self._unless_broken(self._gradients(rows))
        self._rate.copy_(rows.rate)
        if rows.shape.mixed:
            self._step_present(rows)
        else:
            self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return means

    def _gradients(self, rows: Pass) -> Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        with self._low.used():
            means = rows.means(functools.partial(self._answer, rows.shape))
            if self._settings.clip_each and rows.shape.mixed:
                self._clip_each(means, rows.weights)
            else:
                (means * rows.weights).sum().backward()
        self._low.bring_gradients()
        return means.detach()

    def _clip_each(self, means: Tensor, weights: Tensor) -> None:
        """The gradients of the tasks, each clipped by itself; here the model has its weights in half precision."""
        used = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        clipped = ClippedSum(used, self._settings.clip)
        for k in range(len(means)):
            clipped.add(means[k], weights[k], keep=k < len(means) - 1)
        clipped.give()

    def _answer(self, shape: Shape, inputs: dict[str, Tensor], owners: Tensor) -> Mapping[str, Tensor]:
        with self._low.autocast():
            if shape.mixed:
                assert isinstance(self.model, Several)
                return self.model.several(shape.tasks, inputs, owners)
            return {shape.tasks[0]: self.model(shape.tasks[0], inputs)}

    def _step_present(self, rows: Pass) -> None:
        """Update the shared weights, and of the heads those whose tasks have rows; the device decides which."""
        assert isinstance(self.model, Several)
        absent = (rows.counts == 0).float()
        gradients = {parameter: parameter.grad for parameter in self._parameters}
        heads = [self.model.only_for(name) for name in rows.shape.tasks]
        inside = {parameter for head in heads for parameter in head}
        groups = [(head, absent[k]) for k, head in enumerate(heads)]
        groups.append(([parameter for parameter in self._parameters if parameter not in inside], absent.new_zeros(())))
        for group, flag in groups:
            for parameter in self._parameters:
                parameter.grad = None
            for parameter in group:
                parameter.grad = gradients.get(parameter)
            self.optimizer.found_inf = flag  # type: ignore[attr-defined]  # 1: a fused optimizer leaves all as it was
            self.optimizer.step()
        del self.optimizer.found_inf  # type: ignore[attr-defined]

    def _losses_after(self, step: Captured, turn: Turn) -> Tensor:
        """Mean losses of the same rows after the update, in training mode."""
        if step.again is None:
            work = functools.partial(self._forward_again, step.rows)
            step.again = self._capturer.capture(work, work)
        if step.again is None:
            found = {part.task: self._again(part, [part.batch.to(self._device)]) for part in turn.parts}
            nothing = torch.zeros((), device=self._device)
            return torch.stack([found.get(task, nothing) for task in step.rows.shape.tasks])
        self.ledger.scored += sum(len(part.ids) for part in turn.parts)
        return step.again()

    @torch.no_grad()
    def _forward_again(self, rows: Pass) -> Tensor:
        buffers = self._buffers()
        with self._low.used():
            means = rows.means(functools.partial(self._answer, rows.shape))
        restore(buffers)
        return means


def _signature(part: Part) -> tuple[object, ...]:
    batch = part.batch
    return tuple((name, tuple(tensor.shape[1:]), tensor.dtype) for name, tensor in batch.inputs.items())
