"""How often, and on how many rows, a model is evaluated while it is trained."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rota.budgets import UPDATES, read_budget
from rota.runlog import Ledger
from rota.settings import Settings
from rota.tasks import Task

SHARE = 0.25
"""Of what a run costs in forward passes, what evaluations during training may cost."""
EVALUATIONS = 20  # during training, where they can be paid for
EXACT = 1e-9  # a twentieth of a budget need not be a number that floats have
LEAST_ROWS = 50  # of a task in an evaluation: fewer say little, and there are fewer evaluations instead


@dataclass(frozen=True)
class EvaluationBudget:
    """How a run is evaluated, decided before its first step; the same rows are looked at during the whole run.

    Args:
        every: Updates between evaluations, or another unit that the budget of the run counts.
        rows: Dev rows of a task in an evaluation, at most; None for all.
        all_at_end: Whether the last evaluation and the test look at more rows than that: at all.
        share: What evaluations during training cost, of all forward passes of the run; a row that is trained on costs
            three.
        unit: That is counted between evaluations.

    >>> EvaluationBudget(every=30, rows=200, all_at_end=True, share=0.25).told()
    'evaluation: every 30 updates on 200 dev rows of each task, about 25% of the cost; on all rows at the end'
    """

    every: float
    rows: int | None
    all_at_end: bool
    share: float
    unit: str = UPDATES

    def told(self) -> str:
        """A line for people."""
        rows = "all dev rows" if self.rows is None else f"{self.rows} dev rows of each task"
        end = "; on all rows at the end" if self.all_at_end else ""
        every = f"{self.every:g} {self.unit.replace('-', ' ')}"
        return f"evaluation: every {every} on {rows}, about {self.share:.0%} of the cost{end}"


def evaluation_budget(settings: Settings, tasks: Sequence[Task], rows: Mapping[str, int]) -> EvaluationBudget:
    """How a run is evaluated: as its settings say; where they say nothing, so that evaluations during training take a
    quarter of its forward passes at most.

    Args:
        settings: Of the run.
        tasks: All that are evaluated.
        rows: In a step of each task that is trained.

    >>> from rota.data import load_tasks
    >>> tasks = load_tasks(["digits"])[:2]
    >>> evaluation_budget(Settings(steps=600), tasks, {task.name: 32 for task in tasks}).told()
    'evaluation: every 30 updates on 439 dev rows of each task, about 25% of the cost; on all rows at the end'
    """
    sizes = [task.size("dev") for task in tasks if task.size("dev")]
    trained = settings.steps * min(_mean_batch(task, rows[task.name]) for task in tasks if task.name in rows)
    forwards = (1 + Ledger.BACKWARD) * trained
    length = read_budget(settings.budget)
    amount: float = settings.steps if length is None else length.amount
    rounded = math.ceil if length is None else float  # a part of a budget need not be a whole number
    every, most = settings.eval_every or rounded(amount / EVALUATIONS), settings.eval_rows
    limited = settings.eval_every is None and settings.eval_rows is None and bool(sizes)
    affordable = SHARE / (1 - SHARE) * forwards
    if settings.eval_every is None and most is not None and sizes:
        number = int(affordable / sum(min(size, most) for size in sizes)) - 1  # one comes before the first update
        every = math.ceil(settings.steps / min(math.ceil(settings.steps / every), max(1, number)))
    if limited:
        least = sum(min(size, LEAST_ROWS) for size in sizes)
        number = min(math.ceil(amount / every), max(1, int(affordable / least)))
        every = rounded(amount / number)
        most = _most_rows(sizes, affordable / _evaluations(amount, every))
        limited = most < max(sizes)
        most = most if limited else None
    during = _evaluations(amount, every) * sum(min(size, most or size) for size in sizes)
    unit = UPDATES if length is None else length.unit
    return EvaluationBudget(every, most, limited, during / (forwards + during), unit)


def _evaluations(amount: float, every: float) -> int:
    """During training: before the first update, in between, and the last one's rows that are compared with these."""
    return 1 + math.ceil(amount / every - EXACT)


def _mean_batch(task: Task, rows: int) -> float:
    """Rows in a step of a task, over a pass: its last batch may be smaller."""
    return task.size() / math.ceil(task.size() / rows)


def _most_rows(sizes: Sequence[int], affordable: float) -> int:
    """The largest number of rows of each task whose sum can be paid for, at least one."""
    left, tasks = affordable, len(sizes)
    for size in sorted(sizes):
        if size * tasks >= left:
            return max(1, int(left / tasks))
        left, tasks = left - size, tasks - 1
    return max(sizes)
