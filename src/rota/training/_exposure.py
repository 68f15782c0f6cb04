"""What a run has used of its budget, and what it was trained on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from rota.budgets import Budget, read_budget
from rota.engine import StepPlan
from rota.runlog import Ledger, Run
from rota.settings import Settings
from rota.streams import Stream
from rota.tasks import Task

EXACT = 1e-9  # passes and shares of a budget are sums of fractions


class Exposure:
    """Counts the rows of each task that training kept, and says how far a run has come. What is taken back costs, but
    counts as forward passes alone.

    Args:
        settings: Of the run.
        stream: Knows which rows are kept, and which rounds are over.
        tasks: Those with training rows.
        ledger: What the run has cost by now.

    Attributes:
        before: What was trained for the sake of the run before it; it is a part of its cost.

    >>> from rota.data import load_tasks
    >>> from rota.policies import uniform
    >>> from rota.streams import TaskStream
    >>> tasks = load_tasks(["digits"])[:1]
    >>> stream = TaskStream(tasks, uniform(["left"]), batch_size=32)
    >>> exposure = Exposure(Settings(budget="rows:96", steps=3), stream, tasks, Ledger)
    >>> for step in range(3):
    ...     exposure.hear(stream.next(step))
    >>> exposure.is_over(3), exposure.described()["rows"]
    (True, {'left': 96})
    """

    before: Sequence[Run] = ()

    def __init__(self, settings: Settings, stream: Stream, tasks: Sequence[Task], ledger: Callable[[], Ledger]) -> None:
        self._settings, self._stream, self._ledger = settings, stream, ledger
        self._budget: Budget | None = read_budget(settings.budget)
        self._sizes = {task.name: task.size() for task in tasks if task.counted}  # one, where its passes are counted
        self._rows = Counter(dict.fromkeys((task.name for task in tasks), 0))
        self._looked = 0.0  # what was used at the last evaluation
        self._place = 0  # in the schedule of the learning rate

    def hear(self, plan: StepPlan) -> None:
        """A step has ended."""
        self._rows.update(self._stream.kept(plan))
        if self._budget is not None and self._stream.between_rounds:  # inside of a round the learning rate stays
            self._place = int(min(1.0, self._used() / self._budget.amount) * self._settings.steps)

    def look(self) -> None:
        """An evaluation comes now."""
        self._looked = self._used()

    def is_over(self, done: int) -> bool:
        """Whether the budget is used after this number of updates; never inside of a round."""
        if self._budget is None:
            return done >= self._settings.steps
        return self._stream.between_rounds and self._used() >= self._budget.amount * (1 - EXACT)

    def is_due(self, every: float) -> bool:
        """Whether another such part of the budget is used since the last evaluation."""
        return int(self._used() / every + EXACT) > int(self._looked / every + EXACT)

    def scheduled(self, plan: StepPlan) -> StepPlan:
        """The step with the learning rate of its place in the budget."""
        return plan if self._budget is None else replace(plan, scheduled=self._place)

    def _used(self) -> float:
        if self._budget is None:
            return float(self._ledger().updates)
        match self._budget.unit:
            case "rows":
                return float(self._rows.total())
            case "kept-rounds":
                return self._stream.rounds(self._rows)
            case "passes-of-target":
                [(target, size)] = self._sizes.items()
                return self._rows[target] / size
            case "forwards":
                spent = sum(Ledger.from_dict(run.summary["cost"]).forward_equivalents for run in self.before)
                return float(spent + self._ledger().forward_equivalents)

    def described(self) -> dict[str, Any]:
        """For `summary.json`."""
        rows = dict(sorted(self._rows.items()))
        return {"budget": self._settings.budget, "rows": rows, "rounds": round(self._stream.rounds(self._rows), 6)}

    def state_dict(self) -> dict[str, Any]:
        return {"rows": dict(self._rows), "looked": self._looked, "place": self._place}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if not state:
            return  # a checkpoint of an earlier version, whose budget are updates
        self._rows.update(state["rows"])
        self._looked, self._place = state["looked"], state["place"]
