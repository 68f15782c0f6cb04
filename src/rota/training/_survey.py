"""Measure how unsure the model is about every task, from time to time."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import nn

from rota.errors import RotaError, unknown_name
from rota.seeds import integer
from rota.signals import SCORES, Scope, layers_of, mc_dropout, refuse_without_dropout
from rota.streams import Shard
from rota.tasks import Rows, Task, sample_rows
from rota.training._evaluate import Gather, collect_facts, usual_rows
from rota.training._footprint import rows_within
from rota.training.engine import Look, Passes


@dataclass(frozen=True)
class Survey:
    """What is measured, and when. The policy hears one value per task, without a probability.

    Args:
        score: By the name in `rota.signals.SCORES`.
        every: Steps between surveys; the first one is after so many steps.
        passes: Passes K of the model over the rows.
        scope: Where dropout is on: "all", "head", or in the heads and so many last layers of the encoder. What comes
            before is computed once.
        rows: At most so many dev rows of a task, a fixed random sample; all of them for None.
        capped: Whether a task whose dev loss is no lower than at all surveys before counts at most as much as the mean
            of the others: it may be unsure because there is nothing to learn, or because it learns rows by heart.
        memory: Bytes that a forward pass may take, nearly.
    """

    score: str = "entropy"
    every: int = 200
    passes: int = 8
    scope: Scope = "all"
    rows: int | None = None
    capped: bool = True
    memory: int = 2**30

    def __post_init__(self) -> None:
        if self.score not in SCORES:
            raise unknown_name("score", self.score, SCORES)
        for name in ("every", "passes", "memory"):
            if getattr(self, name) < 1:
                raise RotaError(f"A survey expects {name} of at least 1. Found {getattr(self, name)}.")


class Surveyor:
    """Makes surveys and remembers the progress of the tasks.

    Args:
        survey: What to measure.
        model: Whose uncertainty.
        tasks: About what; each has dev rows.
        seed: Of the dropout.
        batch_size: Rows in a forward pass of an evaluation; None for as many as suit the device.
    """

    def __init__(
        self, survey: Survey, model: nn.Module, tasks: Sequence[Task], seed: int, batch_size: int | None
    ) -> None:
        self.survey, self._model, self._seed = survey, model, seed
        refuse_without_dropout(model, survey.scope)
        without = [task.name for task in tasks if not task.size("dev")]
        if without:
            raise RotaError(
                f"A survey expects dev rows of every task. Found none of '{without[0]}'. Give it some, or choose a "
                f"method without surveys."
            )
        self._tasks = {task.name: (task, _some(task.splits["dev"], survey.rows)) for task in tasks}
        self._batch_size = batch_size
        self._fits: dict[str, int] = {}
        self.lowest: dict[str, float] = {}
        self.seconds = 0.0
        """How long all surveys took."""

    @property
    def examples(self) -> int:
        """How many go through the model in a survey."""
        return self._copies * sum(len(rows) for _, rows in self._tasks.values())

    @property
    def _copies(self) -> int:
        """Heads are small: only copies in the encoder count."""
        return 1 if self.survey.scope == "head" else self.survey.passes

    def __call__(self, step: int, look: Look, shard: Shard, gather: Gather) -> dict[str, dict[str, Any]]:
        """Of each task what its policy is to hear (`value`), what was measured (`uncertainty`), and its dev loss."""
        began, survey = time.perf_counter(), self.survey
        score, layers = SCORES[survey.score], layers_of(survey.scope)
        found: dict[str, dict[str, Any]] = {}
        for number, (name, (task, rows)) in enumerate(self._tasks.items()):
            fitting = self._fitting(task, rows)
            passes = Passes(survey.passes, layers, min(survey.passes, fitting))
            most = max(1, fitting // self._copies)
            with mc_dropout(self._model, survey.scope, integer(self._seed, "survey", step, number, shard.rank)):
                facts = collect_facts(look, task, rows, most, shard, gather, score.measure, passes)
            loss = float(facts["nll"].double().mean())
            found[name] = {"uncertainty": score.reduce(facts), "loss": loss if math.isfinite(loss) else None}
        self._add_values(found)
        self.seconds += time.perf_counter() - began
        return found

    def _add_values(self, found: dict[str, dict[str, Any]]) -> None:
        """Where a task has no such uncertainty, it counts as much as the others on average; the cap, if wanted."""
        known = [own["uncertainty"] for own in found.values() if math.isfinite(own["uncertainty"])]
        usual = float(np.mean(known)) if known else 1.0
        for own in found.values():
            own["value"] = own["uncertainty"] if math.isfinite(own["uncertainty"]) else usual
            own["uncertainty"] = own["uncertainty"] if math.isfinite(own["uncertainty"]) else None
        moving = [own["value"] for name, own in found.items() if self._improves(name, own["loss"])]
        for name, own in found.items():
            if self.survey.capped and moving and not self._improves(name, own["loss"]):
                own["value"] = min(own["value"], float(np.mean(moving)))
        for name, own in found.items():
            if own["loss"] is not None:
                self.lowest[name] = min(own["loss"], self.lowest.get(name, math.inf))

    def _improves(self, name: str, loss: float | None) -> bool:
        return loss is not None and loss < self.lowest.get(name, math.inf)

    def _fitting(self, task: Task, rows: Rows) -> int:
        """How many rows, copies included, go through the model at once; tried out once."""
        if task.name not in self._fits:
            usual = self._batch_size or usual_rows(self._model, rows)
            self._fits[task.name] = min(usual, rows_within(self.survey.memory, self._model, task, rows))
        return self._fits[task.name]

    def state_dict(self) -> dict[str, Any]:
        return {"lowest": self.lowest, "seconds": self.seconds}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.lowest, self.seconds = dict(state["lowest"]), state["seconds"]


def _some(rows: Rows, most: int | None) -> Rows:
    return rows if most is None or len(rows) <= most else sample_rows(rows, most)
