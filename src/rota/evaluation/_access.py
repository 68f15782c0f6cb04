"""What those who take part in a run may use of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from rota.draws import Shard
from rota.engine import Engine, Probe
from rota.evaluation._evaluation import Gather, evaluate
from rota.policies import Policy
from rota.settings import Settings
from rota.tasks import Task


@dataclass(frozen=True)
class RunAccess:
    """What a stream or a source may use of the run that it takes part in, from before its first step on.

    Args:
        engine: Has the model and all that moves it.
        settings: Of the run, with nothing left open.
        policy: Of the run.
        tasks: Those with training rows.
        evaluated: All tasks, with at most as many dev and test rows as an evaluation looks at.
        rows: Rows of each task in a step.
        shard: Which part of all work this process does.
        gather: Collects one object per process, in the order of the ranks.

    >>> from rota.data import load_tasks
    >>> from rota.models import MultiTaskModel, SmallConv
    >>> from rota.testing import access_to
    >>> tasks = load_tasks(["digits"])[:2]
    >>> run = access_to(MultiTaskModel(SmallConv(tasks[0].inputs.side), tasks), tasks, batch_size=16, eval_rows=10)
    >>> run.rows, [task.size("dev") for task in run.evaluated]
    ({'left': 16, 'right': 16}, [10, 10])
    >>> run.charge(10)  # ten rows went through the model for a decision
    >>> run.engine.learner.ledger.scored
    10
    """

    engine: Engine
    settings: Settings
    policy: Policy
    tasks: Sequence[Task]
    evaluated: Sequence[Task]
    rows: Mapping[str, int]
    shard: Shard
    gather: Gather

    @property
    def model(self) -> nn.Module:
        return self.engine.learner.model

    @property
    def probe(self) -> Probe:
        """How rows go through the model without an update."""
        return self.engine.probe

    @property
    def seed(self) -> int:
        return self.settings.seed

    def evaluate(self, tasks: Sequence[Task], split: str = "dev") -> dict[str, Any]:
        """Loss, metrics and score of tasks, as `rota.evaluate` returns them. The caller pays for it: see `charge`."""
        rows = self.settings.eval_batch_size
        return evaluate(self.model, tasks, split, rows, self.shard, self.gather, self.probe)

    def charge(self, rows: int) -> None:
        """So many rows, over all processes, went through the model for the sake of a decision."""
        self.engine.learner.ledger.scored += rows
