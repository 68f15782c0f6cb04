"""Execute training steps together with other members of a stack."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any

import torch
from torch import nn

from rota.arrays import Ids
from rota.engine._eager import EagerEngine
from rota.engine._engine import AfterUpdate
from rota.engine._learner import Learner
from rota.engine._members import own_generator
from rota.engine._probe import Passes, RowMeasure
from rota.engine._run_stack import RunStack, StackRows
from rota.engine._step import AsyncScalars, Outcome, StepPlan
from rota.models import MultiTaskModel, StackedTexts, stacked
from rota.signals import View
from rota.tasks import Rows, RowStats, Task
from rota.turns import places, shared, together


def why_not_stacked(model: nn.Module) -> str | None:
    """Why a model cannot be trained in a stack; None if it can.

    >>> why_not_stacked(nn.Linear(2, 2))
    'stacks are for a MultiTaskModel'
    """
    if not isinstance(model, MultiTaskModel):
        return "stacks are for a MultiTaskModel"
    found = stacked(model.encoder)
    return found if isinstance(found, str) else None


class StackEngine:
    """One member of a stack: its steps are made in one pass with those of all other members in this process; alone, it
    is a stack of one, with the same numbers.

    What a stack cannot do, such as steps with several tasks, the member does by itself.

    Args:
        learner: What is trained.
    """

    captured, captures, capture_seconds = False, 0, 0.0
    fallback: str | None = None

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self._eager = EagerEngine(learner)
        model, rows = learner.model, learner.settings.batch_size
        assert isinstance(model, MultiTaskModel)
        encode = stacked(model.encoder)
        assert not isinstance(encode, str | StackedTexts), encode
        model.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        self._key: tuple[Hashable, ...] = (
            "stack",
            rows,
            repr(model.encoder),
            tuple(own.requires_grad for own in model.encoder.parameters()),
        )
        self._stack = shared(self._key, lambda: RunStack(encode, model, places(), rows))
        self._seat = self._stack.join(learner)

    def update(self, plan: StepPlan, after_update: AfterUpdate | None = None) -> Outcome:
        """One update of the model."""
        if not self._stackable(plan):
            return self._eager.update(plan, after_update)
        learner, part = self.learner, plan.parts[0]
        rows = StackRows(self._seat, part, learner.rate_at(plan), own_generator())
        loss, usable = together(self._key, rows, self._stack.update)
        if not usable:
            return Outcome(AsyncScalars(loss[None]), skipped=True)
        learner.count(plan)
        if after_update is None:
            return Outcome(AsyncScalars(loss[None]))
        again = functools.cache(functools.partial(self._eager.again, part))
        value = after_update(View(part.task, plan.step, loss, again, None, learner.units[part.task]))
        return Outcome(AsyncScalars(torch.stack([loss, value])))

    def _stackable(self, plan: StepPlan) -> bool:
        if len(plan.parts) > 1:
            return False
        part = plan.parts[0]
        return self.learner.kinds[part.task].sees == "row" and len(part.ids) <= self.learner.settings.batch_size

    def probe(
        self, task: Task, rows: Rows, ids: Ids, most: int, measure: RowMeasure, passes: Passes | None = None
    ) -> RowStats:
        """A measure of rows in a forward pass, in the mode that the model is in; see `Probe`. Many rows keep a CPU busy
        without company."""
        return self._eager.probe(task, rows, ids, most, measure, passes)

    def tell_fallback_to(self, tell: Callable[[str], None]) -> None:
        """Nothing to tell: it is what was asked for."""

    def close(self) -> None:
        """Leave the model as any other."""
        self._stack.leave(self._seat)

    def state_dict(self) -> dict[str, Any]:
        return self.learner.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.learner.load_state_dict(state)
        self._stack.adopt(self._seat)
