"""Execute training steps of a text encoder together with other members of a stack."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import torch

from rota.arrays import Ids
from rota.engine._eager import EagerEngine
from rota.engine._engine import AfterUpdate
from rota.engine._graph import GraphEngine
from rota.engine._learner import Learner
from rota.engine._members import own_generator
from rota.engine._probe import Passes, RowMeasure
from rota.engine._shapes import padded_length
from rota.engine._step import AsyncScalars, Outcome, StepPlan, TaskBatch
from rota.engine._text_buffers import adam_numbers
from rota.engine._text_heads import stackable_heads
from rota.engine._text_pass import TextRow
from rota.engine._text_stack import TextStack
from rota.engine._text_trust import why_not_trusted
from rota.models import MultiTaskModel, StackedTexts
from rota.signals import View
from rota.tasks import Rows, RowStats, Task
from rota.turns import places, shared, together


class TextEngine:
    """One member of a stack of text encoders: its steps are made together with those of all other members in this
    process; alone, it is a stack of one.

    What a stack cannot do, such as steps with several tasks, the member does by itself: on a GPU captured, else
    eagerly. So it does with all steps where the first one shows that the stack says something else than it does.

    Args:
        learner: What is trained.
        tasks: Whose rows.
        texts: The structure of its encoder.
    """

    def __init__(self, learner: Learner, tasks: Sequence[Task], texts: StackedTexts) -> None:
        model = learner.model
        assert isinstance(model, MultiTaskModel)
        self.learner, self._eager = learner, EagerEngine(learner)
        self._rows = {task.name: task.splits["train"] for task in tasks if task.trained}
        heads = stackable_heads(model)
        self._key: tuple[Hashable, ...] = (
            "texts",
            texts,
            learner.settings.batch_size,
            learner.settings.precision,
            adam_numbers(learner),
            tuple((task, repr(head), repr(head.kind.describe())) for task, head in heads.items()),
        )
        self._stack: TextStack = shared(self._key, lambda: TextStack(texts, learner, places()))
        self._seat = self._stack.buffers.sit(learner)
        self._own: GraphEngine | EagerEngine = self._eager
        if learner.device.type == "cuda":  # made now: what it captures has to find the parameters in their places
            self._own = GraphEngine(learner, tasks)
        self._first = {task: self._stack.library.add(rows) for task, rows in self._rows.items() if task in heads}
        self._lengths = {task: self._rows[task].lengths() for task, first in self._first.items() if first is not None}
        self._numbers = {task: number for number, task in enumerate(heads)}
        self._again = False
        self._trusted = False
        self._reason: str | None = None
        self._told: str | None = None
        self._tell: Callable[[str], None] = lambda reason: None

    @property
    def captured(self) -> bool:
        return self._own.captured

    @property
    def captures(self) -> int:
        return self._own.captures + self._stack.captures

    @property
    def capture_seconds(self) -> float:
        return self._own.capture_seconds + self._stack.seconds

    @property
    def fallback(self) -> str | None:
        return self._reason or self._stack.reason or self._stack.unfused or self._own.fallback

    def update(self, plan: StepPlan, after_update: AfterUpdate | None = None) -> Outcome:
        """One update of the model."""
        item = self._item(plan)
        if item is not None and not self._trusted:
            self._look(item, plan.parts[0])
        if item is None or self._reason is not None:
            return self._own.update(plan, after_update)
        found = together(self._key, item, self._stack.update)
        self._say()
        learner, part = self.learner, plan.parts[0]
        if not learner.settings.delay and learner.device.type == "cpu" and not math.isfinite(found.sent.tolist()[0]):
            return Outcome(found.sent, skipped=True)
        learner.count(plan)
        if after_update is None:
            return Outcome(found.sent)

        @functools.cache
        def again() -> torch.Tensor:
            self._again = True
            if found.after is None:  # nobody had asked before
                return self._eager.again(part)
            learner.ledger.scored += len(part.ids)
            return found.after

        value = after_update(View(part.task, plan.step, found.loss, again, None, learner.units[part.task]))
        return Outcome(AsyncScalars(torch.stack([found.loss, value])))

    def _item(self, plan: StepPlan) -> TextRow | None:
        """What the stack is told of a step; None where it is not for stacks."""
        part, learner = plan.parts[0], self.learner
        lengths = self._lengths.get(part.task)
        first = self._first.get(part.task)
        if len(plan.parts) > 1 or lengths is None or first is None or len(part.ids) > learner.settings.batch_size:
            return None
        if self._reason is None and not self._stack.buffers.holds(learner, self._seat):
            self._stack.buffers.adopt(learner, self._seat)
        ids = np.asarray(part.ids)
        own = lengths[ids]
        clip = learner.settings.clip
        return TextRow(
            self._seat,
            self._numbers[part.task],
            ids + first,
            int(own.sum()),
            padded_length(int(own.max()), int(lengths.max())),
            part.weight,
            learner.rate_at(plan),
            math.inf if clip is None else clip,
            own_generator(learner.device),
            self._again,
        )

    def _look(self, item: TextRow, part: TaskBatch) -> None:
        """Before the first step: does the stack say what the module says?"""
        self._trusted = True
        self._reason = why_not_trusted(self._stack, self.learner, item, part)
        self._say()

    def probe(
        self, task: Task, rows: Rows, ids: Ids, most: int, measure: RowMeasure, passes: Passes | None = None
    ) -> RowStats:
        """A measure of rows in a forward pass, in the mode that the model is in; see `Probe`."""
        return self._own.probe(task, rows, ids, most, measure, passes)

    def tell_fallback_to(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._own.tell_fallback_to(tell)
        self._say()

    def _say(self) -> None:
        """Say, once, why steps are not executed as they were to be."""
        reason = self._reason or self._stack.reason or self._stack.unfused
        if reason is not None and reason != self._told:
            self._told = reason
            self._tell(reason)

    def close(self) -> None:
        """Leave the model as any other."""
        self._own.close()
        self._stack.buffers.leave(self._seat)

    def state_dict(self) -> dict[str, Any]:
        return {**self._own.state_dict(), "asks_again": self._again, "distrusted": self._reason}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._own.load_state_dict(state)
        self._again, self._reason = state["asks_again"], state["distrusted"]
        self._stack.buffers.adopt(self.learner, self._seat)
