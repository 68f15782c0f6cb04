"""What an engine is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from torch import Tensor

from rota.arrays import Ids
from rota.engine._learner import Learner
from rota.engine._probe import Passes, RowMeasure
from rota.engine._step import Outcome, StepPlan
from rota.signals import View
from rota.tasks import Rows, RowStats, Task

AfterUpdate = Callable[[View], Tensor]
"""A number about each part of a step, from what is known after its update; it must not wait for the device."""


class Engine(Protocol):
    """Executes training steps and forward passes. The loop, streams, sources and policies do not know how.

    Attributes:
        learner: What it trains.
        captured: Whether it replays captured work where it can.
        captures: Pieces of work that were captured so far.
        capture_seconds: How long that took.
        fallback: Why steps are not executed as they were to be, if so.

    >>> from rota.data import load_tasks
    >>> from rota.models import MultiTaskModel, SmallConv
    >>> from rota.testing import access_to
    >>> tasks = load_tasks(["digits"])[:2]
    >>> engine = access_to(MultiTaskModel(SmallConv(tasks[0].inputs.side), tasks), tasks).engine
    >>> engine.captured, engine.captures, engine.fallback
    (False, 0, None)
    """

    @property
    def learner(self) -> Learner: ...
    @property
    def captured(self) -> bool: ...
    @property
    def captures(self) -> int: ...
    @property
    def capture_seconds(self) -> float: ...
    @property
    def fallback(self) -> str | None: ...

    def update(self, plan: StepPlan, after_update: AfterUpdate | None = None) -> Outcome:
        """One update of the model."""

    def probe(
        self, task: Task, rows: Rows, ids: Ids, most: int, measure: RowMeasure, passes: Passes | None = None
    ) -> RowStats:
        """A measure of rows in a forward pass; see `Probe`."""

    def tell_fallback_to(self, tell: Callable[[str], None]) -> None:
        """Whom to tell why steps are not executed as they were to be."""

    def close(self) -> None:
        """Leave the model as any other."""

    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...
