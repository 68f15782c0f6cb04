"""The evaluations of a run: when, on which rows, and on whose account."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rota.budgets import UPDATES
from rota.evaluation import EvaluationBudget, RunAccess, evaluation_tasks
from rota.streams import Stream
from rota.tasks import Task
from rota.training._exposure import Exposure


class Evaluations:
    """Evaluates the model during training on the rows by which models are compared, and at the end on all rows.

    Args:
        run: Whose model.
        tasks: All of them.
        budget: What was decided before the first step.
    """

    def __init__(self, run: RunAccess, tasks: Sequence[Task], budget: EvaluationBudget) -> None:
        self._run, self.budget = run, budget
        self._compared = evaluation_tasks(tasks, budget.rows) if budget.all_at_end else run.evaluated

    def is_time(self, done: int, last: int, stream: Stream, exposure: Exposure) -> bool:
        """Whether it is time for an evaluation after this number of updates, the last of them after `last`. Between
        rounds alone: inside, the parameters are those of a branch."""
        if not stream.between_rounds:
            return False
        if exposure.is_over(done):
            return True
        if self.budget.unit != UPDATES:
            return exposure.is_due(self.budget.every)
        return done - last >= self.budget.every if stream.needs_outcome else done % self.budget.every == 0

    def compared(self) -> dict[str, Any]:
        """On the rows that are looked at during the whole run."""
        result = self._run.evaluate(self._compared)
        self._run.engine.learner.ledger.evaluated += _rows(result)
        return result

    def reported(self, split: str = "dev") -> dict[str, Any]:
        """On all rows."""
        result = self._run.evaluate(self._run.evaluated, split)
        self._run.engine.learner.ledger.reported += _rows(result)
        return result


def _rows(result: dict[str, Any]) -> int:
    return sum(task["n"] for task in result["tasks"].values())
