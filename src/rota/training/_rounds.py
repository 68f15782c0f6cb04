"""Lead a trial through a run: which updates belong together, and what happens between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rota.errors import RotaError
from rota.settings import Settings
from rota.streams import BranchStream, Stream, batches_per_pass
from rota.tasks import Task
from rota.training._evaluate import evaluation_tasks
from rota.training._session import Session
from rota.training._target import TargetRows
from rota.training.engine import EagerEngine
from rota.trials import Trial

Trials = Callable[[nn.Module, torch.optim.Optimizer, Mapping[str, int], str], Trial]
"""What makes a trial from model, optimizer, batches in a pass over each task, and the target."""


class Rounds:
    """The segments of a trial, step by step.

    Args:
        trial: What is tried.
        stream: Gives the batches that a segment asks for.
        target: What the trial asks about the model.
        steps: Of the whole run.
        stops: Whether a loss that is no number spoils its branch; otherwise its step alone is left out.
    """

    def __init__(self, trial: Trial, stream: BranchStream, target: TargetRows, steps: int, stops: bool) -> None:
        self.trial, self._stream, self._target, self._steps, self._stops = trial, stream, target, steps, stops
        self._ahead = 0  # updates until the segment ends
        self._broken = False

    @property
    def at_border(self) -> bool:
        """Whether the parameters are those of a model, not of a branch."""
        return self._ahead == 0 and self.trial.at_border

    def open(self, step: int) -> bool:
        """Make ready for a step; False if there is none any more, since no round fits into what is left."""
        if self._ahead:
            return True
        border = self.trial.at_border
        segment = self.trial.next(self._steps - step)
        if segment is None:
            if step == 0:
                raise RotaError(
                    f"Expected enough steps for a round of {sum(self.trial.lengths.values())} updates, and then some. "
                    f"Found {self._steps}. Raise --steps, or lower the option fraction."
                )
            return False
        if border:
            self._stream.scheduled = step  # all branches of a round have the learning rate of its beginning
        self._stream.weights = dict(segment.weights)
        self._ahead, self._broken = segment.steps, False
        return True

    def close(self, done: int, skipped: bool) -> dict[str, Any] | None:
        """A step is done; return the line of the log if a round is decided."""
        self._ahead -= 1
        self._broken = self._broken or (skipped and self._stops)
        if self._ahead:
            return None
        line = self.trial.finish(self._target, self._steps - done, self._broken)
        self._target.forget()
        return line and {"kind": "round", "step": done, **line}

    def state_dict(self) -> dict[str, Any]:
        return {
            "trial": self.trial.state_dict(),
            "target": self._target.state_dict(),
            "weights": dict(self._stream.weights),
            "scheduled": self._stream.scheduled,
            "ahead": self._ahead,
            "broken": self._broken,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.trial.load_state_dict(state["trial"])
        self._target.load_state_dict(state["target"])
        self._stream.weights, self._stream.scheduled = dict(state["weights"]), state["scheduled"]
        self._ahead, self._broken = state["ahead"], state["broken"]

    def tensors(self) -> dict[str, Tensor]:
        """What it remembers of parameters inside of a round."""
        return self.trial.tensors()

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        self.trial.load_tensors(tensors)


def make_rounds(
    trial: Trials,
    stream: Stream,
    engine: EagerEngine,
    trained: Sequence[Task],
    rows: Mapping[str, int],
    session: Session,
    settings: Settings,
) -> Rounds:
    """The rounds of a run; refuse what cannot be trained in rounds.

    Args:
        trial: Makes what is tried.
        stream: Of the run.
        engine: Has model and optimizer.
        trained: The tasks with training rows, of which one alone is not auxiliary.
        rows: In a step of each.
        session, settings: Of the run.
    """
    assert isinstance(stream, BranchStream)
    counted = [task for task in trained if task.counted]
    if len(counted) != 1:
        raise RotaError(
            f"Training in rounds expects one target, and all other tasks to be auxiliary. Found "
            f"{', '.join(task.name for task in counted)}. Choose with --target."
        )
    if settings.optimizer_per_task:
        raise RotaError("Training in rounds expects no --optimizer-per-task. Found it. Say --option memory=own.")
    if settings.delay:
        raise RotaError(f"Training in rounds expects --delay 0. Found {settings.delay}.")
    batches = batches_per_pass({task.name: task.size() for task in trained}, rows)
    made = trial(engine.model, engine.optimizer, batches, counted[0].name)
    limited = evaluation_tasks(counted, settings.eval_rows)
    target = TargetRows(engine, limited[0], session, settings.eval_batch_size, made.target_batches, settings.seed)
    return Rounds(made, stream, target, settings.steps, stops=settings.on_nan == "stop")


def all_broke(number: int, folder: Path, done: int) -> RotaError:
    """What to say when no branch of a round can be used."""
    return RotaError(
        f"Expected losses that are numbers in round {number}. Found a branch of every task broken. The model is as "
        f"it was before that round, and everything up to step {done} is saved in {folder}. Lower --lr, or look at the "
        f"rows."
    )
