"""Training in rounds, as a stream of batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from rota.budgets import UPDATES
from rota.engine import StepPlan
from rota.errors import RotaError
from rota.evaluation import RunAccess
from rota.policies import Policy
from rota.streams import Ended, StepKind, Stream, batches_per_pass, takes_part
from rota.tasks import Task
from rota.trials._branch_training import BranchTraining
from rota.trials._target_rows import TargetRows

MakeBranches = Callable[[nn.Module, torch.optim.Optimizer, Mapping[str, int], str], BranchTraining]
"""What makes a trial from model, optimizer, batches in a pass over each task, and the target."""


class RoundStream(Stream):
    """The batches that a trial asks for, one segment after the other; between two of them the trial may move the
    parameters. The only task that is not auxiliary is the target.

    The trial decides which task is next; the policy only names the tasks, and must not hear anything.

    Args:
        trial: Makes what is tried, such as `functools.partial(AlphaVIL, fraction=0.25)`.

    >>> import functools
    >>> from dataclasses import replace
    >>> from rota.data import load_tasks
    >>> from rota.models import MultiTaskModel, SmallConv
    >>> from rota.policies import uniform
    >>> from rota.testing import access_to
    >>> from rota.trials import AlphaVIL
    >>> target, other = load_tasks(["digits"])[:2]
    >>> tasks = [target, replace(other, auxiliary=True)]
    >>> run = access_to(MultiTaskModel(SmallConv(target.inputs.side), tasks), tasks, steps=60, optimizer="sgd")
    >>> policy = uniform([task.name for task in tasks])
    >>> stream = RoundStream(tasks, policy, run.rows, trial=functools.partial(AlphaVIL, fraction=0.1))
    >>> stream.connect(run)
    >>> [part.task for part in stream.next(step=0).parts], stream.between_rounds
    (['left'], False)
    """

    needs_outcome: ClassVar[bool] = True
    shape: ClassVar[StepKind] = "rounds"
    shardable: ClassVar[bool] = False

    def __init__(self, tasks: Sequence[Task], policy: Policy, *args: Any, trial: MakeBranches, **kwargs: Any) -> None:
        if policy.hears != () or policy.counts_draws:
            raise RotaError(
                f"Training in rounds expects a policy that hears nothing, such as uniform(tasks): the rounds decide "
                f"which task is next. Found {type(policy).__name__}."
            )
        super().__init__(tasks, policy, *args, **kwargs)
        self._make = trial
        self._weights: Mapping[str, float] = {}  # of the tasks in the steps of this segment
        self._batches: Mapping[str, int] | None = None  # of each of them, where not every step has one
        self._begun: dict[str, int] = {}  # batches that each task had given when the round began
        self._segments: list[Counter[str]] = []  # of this round, their rows
        self._stays: Counter[str] = Counter()  # rows of a round that is over
        self._long = 0  # updates of this segment
        self._scheduled: int | None = None  # all branches of a round have the learning rate of its beginning
        self._left = 0  # updates until the segment ends
        self._broken = False

    def connect(self, run: RunAccess) -> None:
        settings, learner = run.settings, run.engine.learner
        counted = [task for task in run.evaluated if task.counted and task.trained]
        if len(counted) != 1:
            raise RotaError(
                f"Training in rounds expects one target, and all other tasks to be auxiliary. Found "
                f"{', '.join(task.name for task in counted)}. Choose it with Plan(target=…), or mark the others."
            )
        if settings.optimizer_per_task:
            raise RotaError(
                "Training in rounds expects one state of the optimizer. Found Settings(optimizer_per_task=True). Say "
                "memory='own' instead."
            )
        if settings.delay:
            raise RotaError(f"Training in rounds expects Settings(delay=0). Found {settings.delay}.")
        # Updates are counted where they are the budget; otherwise rounds are whole, and the run ends behind one.
        self._steps = settings.steps if settings.budget == UPDATES else None
        self._spoils = settings.on_nan == "stop"
        batches = batches_per_pass({task.name: task.size() for task in run.tasks}, run.rows)
        self.trial = self._make(run.model, learner.optimizer, batches, counted[0].name)
        self.notice = self.trial.notice
        self._target = TargetRows(run, counted[0], self.trial.target_batches)

    def next(self, step: int) -> StepPlan | None:
        if not self._left and not self._begin(step):
            return None
        place, wished = self._long - self._left, self._batches
        tasks = [task for task in self._weights if wished is None or takes_part(wished[task], self._long, place)]
        parts = tuple(self._part(task, self._weights[task]) for task in tasks)
        self._segments[-1].update({part.task: len(part.ids) for part in parts})
        return StepPlan(step, parts, scheduled=self._scheduled)

    def _begin(self, step: int) -> bool:
        """Begin the next segment; False if no round fits into what is left."""
        at_border = self.trial.at_border
        segment = self.trial.next(self._updates_left(step))
        if segment is None:
            if step == 0:
                raise RotaError(
                    f"Expected enough steps for a round of {sum(self.trial.lengths.values())} updates, and then some. "
                    f"Found {self._steps}. Raise Settings(steps=…), or lower `fraction`."
                )
            return False
        queues = self._draws.queues
        if at_border:
            self._scheduled, self._segments = step, []
            self._begun = {task: queue.consumed for task, queue in queues.items()}
        for task in segment.weights if segment.again else ():
            queues[task].consumed = self._begun[task]
        self._segments.append(Counter())
        self._weights, self._batches = dict(segment.weights), segment.batches
        self._left = self._long = segment.steps
        self._broken = False
        return True

    def _updates_left(self, done: int) -> int | None:
        return None if self._steps is None else self._steps - done

    def ended(self, done: int, skipped: bool) -> Ended | None:
        self._left -= 1
        # Where steps are to be skipped, only that one is left out; otherwise its branch is spoiled.
        self._broken = self._broken or (skipped and self._spoils)
        if self._left:
            return None
        line = self.trial.finish(self._target, self._updates_left(done), self._broken)
        self._target.forget()
        if self.trial.at_border:
            self._stays = sum((self._segments[number] for number in self.trial.kept), Counter())
            self._segments = []
        if line is None:
            return None
        all_broke = len(line["diverged"]) == len(self.trial.tasks)
        failure = (
            f"Expected losses that are numbers in round {line['round']}. Found a branch of every task broken. The "
            f"model is as it was before that round. Lower Settings(lr=…), or look at the rows."
        )
        return Ended({"kind": "round", "step": done, **line}, failure if all_broke else None)

    def kept(self, plan: StepPlan) -> Mapping[str, int]:
        kept, self._stays = self._stays, Counter()
        return kept

    def rounds(self, rows: Mapping[str, int]) -> float:
        return self.trial.round

    @property
    def between_rounds(self) -> bool:
        return self._left == 0 and self.trial.at_border

    def expected_shares(self, step: int) -> dict[str, float]:
        return self.trial.mixture

    def describe(self) -> dict[str, Any]:
        return {"trial": self.trial.describe()}

    def state_dict(self) -> dict[str, Any]:
        return {
            **super().state_dict(),
            "trial": self.trial.state_dict(),
            "target": self._target.state_dict(),
            "weights": dict(self._weights),
            "batches": None if self._batches is None else dict(self._batches),
            "begun": dict(self._begun),
            "segments": [dict(rows) for rows in self._segments],
            "scheduled": self._scheduled,
            "ahead": self._left,
            "long": self._long,
            "broken": self._broken,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.trial.load_state_dict(state["trial"])
        self._target.load_state_dict(state["target"])
        self._weights, self._scheduled = dict(state["weights"]), state["scheduled"]
        self._batches, self._begun = state["batches"], dict(state["begun"])
        self._segments = [Counter(rows) for rows in state["segments"]]
        self._left, self._long, self._broken = state["ahead"], state["long"], state["broken"]

    def tensors(self) -> dict[str, Tensor]:
        return self.trial.tensors()

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        self.trial.load_tensors(tensors)
