"""Joint steps in rounds that take the same share of every task's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rota.engine import StepPlan
from rota.policies import Policy
from rota.streams._batches_in_round import batches_in_round, steps_of_round, takes_part
from rota.streams._streams import JointStream
from rota.tasks import Task


class JointRounds(JointStream):
    """Joint steps in rounds, as many batches of a task in each as a branch of it has: after k rounds every task has
    seen the share k · `fraction` of its rows.

    The largest task is in all steps of a round; the batches of others are spread over them, with the weights that they
    have beside all tasks: to first order, SGD does what the branches of a round do together.

    Args:
        tasks, policy: See `JointStream`.
        fraction: Share ρ of a task's rows in a round.

    >>> import torch
    >>> from rota.policies import uniform
    >>> rows = {"rte": torch.randn(24, 3), "mrpc": torch.randn(50, 3)}  # 3 and 6 batches without dev rows
    >>> tasks = [Task.from_dataset(name, (own, torch.arange(len(own)) % 2)) for name, own in rows.items()]
    >>> stream = JointRounds(tasks, uniform(list(rows)), batch_size=8)
    >>> ["+".join(part.task for part in stream.next(step).parts) for step in range(6)]
    ['mrpc', 'rte+mrpc', 'mrpc', 'rte+mrpc', 'mrpc', 'rte+mrpc']
    """

    def __init__(self, tasks: Sequence[Task], policy: Policy, *args: Any, fraction: float = 1.0, **kwargs: Any) -> None:
        super().__init__(tasks, policy, *args, **kwargs)
        self._fraction, self._round, self._place = fraction, 0, 0

    def next(self, step: int) -> StepPlan:
        weights = self.policy.shares(step)
        batches = batches_in_round(
            {task: self._draws.queues[task].batches for task in weights}, self._fraction, self._round
        )
        steps, place = steps_of_round(batches), self._place
        self._round, self._place = (self._round + 1, 0) if place + 1 == steps else (self._round, place + 1)
        parts = (task for task, count in batches.items() if weights[task] > 0 and takes_part(count, steps, place))
        return StepPlan(step, tuple(self._part(task, weights[task]) for task in parts))

    def rounds(self, rows: Mapping[str, int]) -> float:
        return self._round

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "fraction": self._fraction}

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "round": self._round, "place": self._place}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._round, self._place = state["round"], state["place"]
