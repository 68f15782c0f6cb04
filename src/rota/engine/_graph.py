"""Execute a training step as one launch: captured as a CUDA graph when it is first needed, then replayed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from rota.arrays import Ids
from rota.engine._captured_probes import CapturedProbes
from rota.engine._capturer import Captured, Capturer
from rota.engine._clip import ClippedSum
from rota.engine._eager import EagerEngine
from rota.engine._engine import AfterUpdate
from rota.engine._half_weights import HalfWeights
from rota.engine._learner import Learner, restore
from rota.engine._optimizer import make_state
from rota.engine._pass import Pass
from rota.engine._probe import Passes, RowMeasure
from rota.engine._row_store import RowStore, room_on
from rota.engine._shapes import Shape, padded_rows
from rota.engine._step import AsyncScalars, Outcome, StepPlan, TaskBatch
from rota.signals import View
from rota.tasks import Rows, RowStats, SupportsDeviceRows, Task
from rota.turns import give_way


@runtime_checkable
class Several(Protocol):
    """A model that can be asked for several tasks at once, such as `MultiTaskModel`.

    >>> from rota.models import MultiTaskModel, SmallConv
    >>> from rota.tasks import Classification
    >>> isinstance(MultiTaskModel(SmallConv(side=8), {"parity": Classification(2)}), Several)
    True
    """

    def several(self, tasks: Sequence[str], inputs: dict[str, Tensor], owners: Tensor) -> dict[str, Tensor]: ...
    def only_for(self, task: str) -> list[nn.Parameter]: ...


class GraphEngine:
    """Forward, loss, backward, clipping and optimizer step in one launch, for each task and padded length.

    Rows lie on the device and are gathered there. What a captured step cannot do is done eagerly; where the model
    cannot be captured at all, everything is, and `fallback` says why.

    Args:
        learner: What is trained, made for captured updates.
        tasks: Whose rows.
    """

    captured = True

    def __init__(self, learner: Learner, tasks: Sequence[Task]) -> None:
        assert learner.rate is not None, "made for captured updates"
        self.learner, self._rate = learner, learner.rate
        self._eager = EagerEngine(learner)
        self._settings, self._device, self._model = learner.settings, learner.device, learner.model
        self._capturer = Capturer(self._model, self._device, compiled=self._settings.engine == "compile")
        self._row_store = RowStore(self._device, room_on(self._device))
        half = torch.bfloat16 if self._settings.precision == "bf16" else None
        self._half_weights = HalfWeights(self._model, half, products=not self._capturer.compiled)
        self._probes = CapturedProbes(self._model, self._capturer, self._row_store, self._half_weights)
        self._trained = {task.name: task for task in tasks if task.trained}
        self._one_by_one = False  # whether the gradients of tasks that are clipped by themselves are found so
        self._normalised = any(isinstance(module, _BatchNorm) for module in self._model.modules())

    def update(self, plan: StepPlan, after_update: AfterUpdate | None = None) -> Outcome:
        """One update of the model."""
        give_way()
        step = self._step(plan)
        if step is None:
            return self._eager.update(plan, after_update)
        losses = step.replay()
        self.learner.count(plan)
        places = [step.rows.shape.tasks.index(part.task) for part in plan.parts]
        if after_update is None:
            return Outcome(AsyncScalars(losses, places))
        losses = losses.clone()  # the next replay may overwrite them

        @functools.cache
        def again() -> Tensor:
            return self._losses_after(step, plan)

        def loss_after(k: int) -> Tensor:
            return again()[k]

        units = self.learner.units
        values = [
            after_update(
                View(part.task, plan.step, losses[k], functools.partial(loss_after, k), None, units[part.task])
            )
            for k, part in zip(places, plan.parts, strict=True)
        ]
        chosen = [*places, *range(len(losses), len(losses) + len(values))]
        return Outcome(AsyncScalars(torch.cat([losses, torch.stack(values)]), chosen))

    def probe(
        self, task: Task, rows: Rows, ids: Ids, most: int, measure: RowMeasure, passes: Passes | None = None
    ) -> RowStats:
        """A measure of rows in a forward pass, in the mode that the model is in when it is captured; see `Probe`."""
        return self._probes(task, rows, ids, most, measure, passes)

    @property
    def captures(self) -> int:
        return self._capturer.captures

    @property
    def capture_seconds(self) -> float:
        return self._capturer.seconds

    @property
    def fallback(self) -> str | None:
        return self._capturer.reason

    def tell_fallback_to(self, tell: Callable[[str], None]) -> None:
        self._capturer.tell_to(tell)

    def close(self) -> None:
        """Leave the model as any other."""
        self._capturer.close()

    def state_dict(self) -> dict[str, Any]:
        return {**self.learner.state_dict(), "gave_up": self.fallback if self._capturer.gave_up else None}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.learner.load_state_dict(state)
        if state["gave_up"]:  # a run that went on eagerly goes on eagerly
            self._capturer.give_up(state["gave_up"])

    # Finding and capturing

    def _step(self, plan: StepPlan) -> Captured | None:
        """The captured step for this turn, with its rows loaded; None: it has to be done eagerly."""
        shape = self._shape(plan.parts)
        if shape is None:
            return None
        # The rows of somebody's own say by their shapes what can be captured together.
        key = shape, tuple(_signature(part) for part in plan.parts if not self._can_move(part.task))

        def make() -> Pass:
            sources = {
                name: self._row_store.source(self._rows_of(name), shape.rows, shape.width) for name in shape.tasks
            }
            return Pass(shape, self.learner.kinds, sources, self._device)

        def load(rows: Pass) -> None:
            fetches = [functools.partial(getattr, part, "batch") for part in plan.parts]
            shares = [(p.task, p.ids, p.weight, fetch) for p, fetch in zip(plan.parts, fetches, strict=True)]
            rows.load(shares, self.learner.rate_at(plan))

        return self._capturer.obtain(key, make, load, self._train, self._prepare)

    def _shape(self, parts: Sequence[TaskBatch]) -> Shape | None:
        """The shape for these parts; None where no captured step does what they need."""
        count = sum(len(part.ids) for part in parts)
        mixed = len(parts) > 1
        if self._capturer.gave_up or (mixed and not self._mixes()):
            return None
        own = self._settings.batch_size if mixed else self._trained[parts[0].task].batch_size
        rows = padded_rows(count, own or self._settings.batch_size)
        if self._normalised and rows > count:
            return None  # the batch norm would look at the rows that fill the batch up
        width = self._row_store.width([(self._rows_of(part.task), part.ids) for part in parts])
        return Shape(tuple(self._trained) if mixed else (parts[0].task,), rows, width)

    def _mixes(self) -> bool:
        """Whether steps with rows of several tasks can be captured."""
        able = isinstance(self._model, Several) and all(map(self._can_move, self._trained))
        if able and all(self.learner.kinds[name].sees != "choices" for name in self._trained):
            return True
        self._capturer.explain(
            "steps with several tasks are captured for a MultiTaskModel, and not with tasks of choices"
        )
        return False

    def _rows_of(self, task: str) -> Rows:
        return self._trained[task].splits["train"]

    def _can_move(self, task: str) -> bool:
        return isinstance(self._rows_of(task), SupportsDeviceRows)

    # The work that is captured

    def _prepare(self, rows: Pass) -> None:
        """What `_train` does, except that nothing changes; parameters get the optimizer's state that they lack."""
        self._gradients(rows)
        make_state(self.learner.optimizer, self._rate)
        self.learner.optimizer.zero_grad(set_to_none=True)

    def _train(self, rows: Pass) -> Tensor:
        """The whole step; returns the mean loss of each task."""
        means = self.learner.unless_broken(self._gradients(rows))
        self._rate.copy_(rows.rate)
        if rows.shape.mixed:
            self._step_present(rows)
        else:
            self.learner.optimizer.step()
        self.learner.optimizer.zero_grad(set_to_none=True)
        return means

    def _gradients(self, rows: Pass) -> Tensor:
        self.learner.optimizer.zero_grad(set_to_none=True)
        with self._half_weights.used():
            means = rows.means(functools.partial(self._answer, rows.shape))
            if self._settings.clip_each and rows.shape.mixed:
                self._clip_each(means, rows.weights)
            else:
                (means * rows.weights).sum().backward()
        self._half_weights.bring_gradients()
        return means.detach()

    def _clip_each(self, means: Tensor, weights: Tensor) -> None:
        """The gradients of the tasks, each clipped by itself; here the model has its weights in half precision."""
        used = [parameter for parameter in self._model.parameters() if parameter.requires_grad]
        clipped = ClippedSum(used, self._settings.clip)
        try:
            if not self._one_by_one:
                clipped.add_all(means, weights)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError:  # in the rehearsal: operations that cannot be batched, such as those of compiled layers
            self._one_by_one = True
        if self._one_by_one:
            for k in range(len(means)):
                clipped.add(means[k], weights[k], keep=k < len(means) - 1)
        clipped.give()

    def _answer(self, shape: Shape, inputs: dict[str, Tensor], owners: Tensor) -> Mapping[str, Tensor]:
        with self._half_weights.autocast():
            if shape.mixed:
                assert isinstance(self._model, Several)
                return self._model.several(shape.tasks, inputs, owners)
            return {shape.tasks[0]: self._model(shape.tasks[0], inputs)}

    def _step_present(self, rows: Pass) -> None:
        """Update the shared weights, and of the heads those whose tasks have rows; the device decides which."""
        assert isinstance(self._model, Several)
        absent = (rows.counts == 0).float()
        gradients = {parameter: parameter.grad for parameter in self.learner.parameters}
        heads = [self._model.only_for(name) for name in rows.shape.tasks]
        inside = {parameter for head in heads for parameter in head}
        groups = [(head, absent[k]) for k, head in enumerate(heads)]
        shared = [parameter for parameter in self.learner.parameters if parameter not in inside]
        groups.append((shared, absent.new_zeros(())))
        for group, flag in groups:
            for parameter in self.learner.parameters:
                parameter.grad = None
            for parameter in group:
                parameter.grad = gradients.get(parameter)
            self.learner.optimizer.found_inf = flag  # type: ignore[attr-defined]  # 1: a fused optimizer leaves all as it was
            self.learner.optimizer.step()
        del self.learner.optimizer.found_inf  # type: ignore[attr-defined]

    def _losses_after(self, step: Captured, plan: StepPlan) -> Tensor:
        """Mean losses of the same rows after the update, in training mode."""
        if step.again is None:
            work = functools.partial(self._forward_again, step.rows)
            step.again = self._capturer.capture(work, work)
        if step.again is None:
            found = {part.task: self._eager.again(part) for part in plan.parts}
            nothing = torch.zeros((), device=self._device)
            return torch.stack([found.get(task, nothing) for task in step.rows.shape.tasks])
        self.learner.ledger.scored += sum(len(part.ids) for part in plan.parts)
        return step.again()

    @torch.no_grad()
    def _forward_again(self, rows: Pass) -> Tensor:
        buffers = self.learner.buffers()
        with self._half_weights.used():
            means = rows.means(functools.partial(self._answer, rows.shape))
        restore(buffers)
        return means


def _signature(part: TaskBatch) -> tuple[object, ...]:
    batch = part.batch
    return tuple((name, tuple(tensor.shape[1:]), tensor.dtype) for name, tensor in batch.inputs.items())
