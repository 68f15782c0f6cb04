"""Execute training steps of a text encoder together with other members of a stack."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

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
from rota.engine._text_heads import labels_for, stackable_heads
from rota.engine._text_library import TextLibrary
from rota.engine._text_looks import TextLook
from rota.engine._text_pass import TextRow
from rota.engine._text_seats import NO_SEAT, stack_for
from rota.engine._text_trust import why_not_trusted
from rota.models import MultiTaskModel, StackedTexts
from rota.signals import View
from rota.tasks import Rows, RowStats, Task
from rota.turns import together


class _Stored(NamedTuple):
    """Rows that are in a library, the number of the first of them there, and their lengths."""

    rows: Rows
    first: int
    lengths: Ids

    @classmethod
    def of(cls, rows: Rows, library: TextLibrary) -> _Stored | None:
        first, lengths = library.add(rows), rows.lengths()
        return None if first is None or lengths is None else cls(rows, first, lengths)


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
        heads = stackable_heads(model)
        self._key: tuple[Hashable, ...] = (
            "texts",
            texts,
            learner.settings.batch_size,
            learner.settings.precision,
            adam_numbers(learner),
            tuple((task, repr(head), repr(head.kind.describe())) for task, head in heads.items()),
        )
        self._stack = stack_for(self._key, texts, learner)
        self._seat = self._stack.buffers.sit(learner)
        self._own: GraphEngine | EagerEngine = self._eager
        if learner.device.type == "cuda":  # made now: what it captures has to find the parameters in their places
            self._own = GraphEngine(learner, tasks)
        trained = {task.name: task.splits["train"] for task in tasks if task.trained and task.name in heads}
        stored = {task: _Stored.of(rows, self._stack.library) for task, rows in trained.items()}
        self._stored = {task: own for task, own in stored.items() if own is not None}
        self._numbers = {task: number for number, task in enumerate(heads)}
        self._again = False
        self._compared = self._left = False
        self._seen: dict[int, tuple[Rows, _Stored | None]] = {}  # with the rows: nobody else gets their id
        self._reason = NO_SEAT if self._seat is None else None
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
        if item is None or not self._trusts():
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
        stored = self._stored.get(part.task)
        if len(plan.parts) > 1 or stored is None or self._seat is None:
            return None
        if len(part.ids) > learner.settings.batch_size:
            return None
        if self._reason is None and not self._stack.buffers.holds(learner, self._seat):
            self._stack.buffers.adopt(learner, self._seat)
        row, clip = self._row(part.task, stored, np.asarray(part.ids)), learner.settings.clip
        limit = math.inf if clip is None else clip
        return replace(row, weight=part.weight, rate=learner.rate_at(plan), clip=limit, again=self._again)

    def _row(self, task: str, stored: _Stored, ids: Ids, most: int | None = None, copies: int = 1) -> TextRow:
        """Some rows of a task, `copies` times; filled up to `most` each time."""
        rows = np.full((copies, most or len(ids)), -1)
        rows[:, : len(ids)] = ids + stored.first
        lengths = stored.lengths[ids]
        width = padded_length(int(lengths.max()), int(stored.lengths.max()))
        generator, tokens = own_generator(self.learner.device), copies * int(lengths.sum())
        assert self._seat is not None
        return TextRow(self._seat, self._numbers[task], rows.flatten(), tokens, width, generator)

    def _trusts(self) -> bool:
        """Whether the stack says what the module says; looked at once, before either is asked."""
        if not self._compared:
            self._compared = True
            task, stored = next(iter(self._stored.items()))
            ids = np.arange(min(self.learner.settings.batch_size, len(stored.rows)))
            part = TaskBatch(task, ids, len(ids), lambda: stored.rows.batch(ids))
            self._reason = why_not_trusted(self._stack, self.learner, self._row(task, stored, ids), part)
            self._say()
        return self._reason is None

    def probe(
        self, task: Task, rows: Rows, ids: Ids, most: int, measure: RowMeasure, passes: Passes | None = None
    ) -> RowStats:
        """A measure of rows in a forward pass, in the mode that the model is in; see `Probe`."""
        looks = self._looks(task, rows, ids, most, passes)
        if looks is None:
            return self._own.probe(task, rows, ids, most, measure, passes)
        found = [together(("looks", *self._key), look, self._stack.answers) for look in looks]
        self._say()
        outputs = found[0].outputs[0] if passes is None else torch.cat([own.outputs for own in found])
        outputs, labels = outputs[..., : task.kind.width], labels_for(task.kind, found[0].labels)
        return {name: fact[: len(ids)] for name, fact in measure(task.kind, outputs, labels).items()}

    def _looks(self, task: Task, rows: Rows, ids: Ids, most: int, passes: Passes | None) -> list[TextLook] | None:
        """What the stack is asked, once for each time that rows go through it; None where it is not for stacks: rows of
        other kinds, masks that all rows share, dropout in some of the layers."""
        partly = passes is not None and (passes.masks is not None or passes.layers is not None)
        if partly or (passes is None and self.learner.model.training) or task.name not in self._numbers:
            return None
        if self._left or self._seat is None:
            return None
        if id(rows) not in self._seen:
            self._seen[id(rows)] = rows, _Stored.of(rows, self._stack.looked_at)
        stored = self._seen[id(rows)][1]
        if stored is None or not self._stored or not self._trusts():
            return None
        copies = 1 if passes is None else passes.count
        at_once = copies if passes is None else passes.at_once or copies
        counts = [min(at_once, copies - done) for done in range(0, copies, at_once)]
        asked = [(self._row(task.name, stored, ids, most, count), count) for count in counts]
        found = [TextLook(row, most, count, drops=passes is not None) for row, count in asked]
        return found if self._stack.takes(found[0].row.width) else None

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
        self._left = True
        self._own.close()
        if self._seat is not None:
            self._stack.buffers.leave(self._seat)

    def state_dict(self) -> dict[str, Any]:
        return {
            **self._own.state_dict(),
            "asks_again": self._again,
            "distrusted": None if self._seat is None else self._reason,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._own.load_state_dict(state)
        self._again = state["asks_again"]
        if self._seat is not None:
            self._reason = state["distrusted"]
            self._stack.buffers.adopt(self.learner, self._seat)
