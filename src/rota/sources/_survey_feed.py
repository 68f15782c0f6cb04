"""Makes surveys in one run."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from rota.engine import Passes
from rota.errors import RotaError
from rota.evaluation import RunAccess, collect_row_stats, rows_within, usual_rows
from rota.feedback import Feedback
from rota.seeds import integer
from rota.signals import SCORES, layers_of, mc_dropout, refuse_without_dropout
from rota.sources._source import Feed, Moment, Said
from rota.sources._survey import Survey
from rota.tasks import Rows, Task, sample_rows


class SurveyFeed(Feed):
    """Makes surveys and remembers the progress of the tasks.

    Args:
        survey: What to measure, and when.
        run: Whose model is asked, about the dev rows of each task that is trained.
    """

    def __init__(self, survey: Survey, run: RunAccess) -> None:
        self._survey, self._run = survey, run
        self._score = SCORES[survey.score]
        if run.shard.together and layers_of(survey.scope) is not None:
            raise RotaError(
                f"A survey of a sharded model expects scope 'all': a part of it cannot be asked "
                f"alone. Found {survey.scope!r}."
            )
        refuse_without_dropout(run.model, survey.scope, self._score.joint)
        without = [task.name for task in run.tasks if not task.size("dev")]
        if without:
            raise RotaError(
                f"A survey expects dev rows of every task. Found none of '{without[0]}'. Give it some, or choose a "
                f"method without surveys."
            )
        self._tasks = {task.name: (task, _some(task.splits["dev"], survey.rows)) for task in run.tasks}
        self._fits: dict[str, int] = {}
        self._lowest: dict[str, float] = {}

    def at_step_end(self, moment: Moment) -> Said | None:
        assert self._survey.every is not None, "`for_run` has filled it in"
        if moment.done % self._survey.every or moment.last:
            return None
        found = self._measured(moment.done)
        self._run.charge(self._copies * sum(len(rows) for _, rows in self._tasks.values()))
        says = self._survey.says
        feedback = [Feedback(task, own["value"], None, moment.done, about=says) for task, own in found.items()]
        return Said(feedback, {"kind": "survey", "step": moment.done, "tasks": found}, mixture=True)

    @property
    def _copies(self) -> int:
        """Heads are small: only copies in the encoder count."""
        return 1 if self._survey.scope == "head" else self._survey.passes

    def _measured(self, step: int) -> dict[str, dict[str, Any]]:
        """Of each task what its policy is to hear (`value`), what was measured (`uncertainty`), and its dev loss."""
        survey, run = self._survey, self._run
        score, layers = self._score, layers_of(survey.scope)
        found: dict[str, dict[str, Any]] = {}
        for number, (name, (task, rows)) in enumerate(self._tasks.items()):
            fitting = self._fitting(task, rows)
            most = max(1, fitting // self._copies)
            # Rows of a joint score are samples of one model, on whichever process they are.
            place = (step, number) if score.joint else (step, number, run.shard.rank)
            seed = integer(run.seed, "survey", *place)
            with mc_dropout(run.model, survey.scope, seed, score.joint) as masks:
                passes = Passes(survey.passes, layers, min(survey.passes, fitting), masks)
                row_stats = collect_row_stats(run.probe, task, rows, most, run.shard, run.gather, score.measure, passes)
            loss = float(row_stats["nll"].double().mean())
            found[name] = {"uncertainty": score.reduce(row_stats), "loss": loss if math.isfinite(loss) else None}
        self._add_values(found)
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
            if self._survey.capped and moving and not self._improves(name, own["loss"]):
                own["value"] = min(own["value"], float(np.mean(moving)))
        for name, own in found.items():
            if own["loss"] is not None:
                self._lowest[name] = min(own["loss"], self._lowest.get(name, math.inf))

    def _improves(self, name: str, loss: float | None) -> bool:
        return loss is not None and loss < self._lowest.get(name, math.inf)

    def _fitting(self, task: Task, rows: Rows) -> int:
        """How many rows, copies included, go through the model at once; tried out once."""
        if task.name not in self._fits:
            usual = self._run.settings.eval_batch_size or usual_rows(self._run.model, rows)
            self._fits[task.name] = min(usual, rows_within(self._survey.memory, self._run.model, task, rows))
        return self._fits[task.name]

    def state_dict(self) -> dict[str, Any]:
        return {"lowest": self._lowest}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._lowest = dict(state["lowest"])

    def carried(self, state: dict[str, Any], tasks: Collection[str]) -> dict[str, Any]:
        return {"lowest": {task: loss for task, loss in state["lowest"].items() if task in tasks}}


def _some(rows: Rows, most: int | None) -> Rows:
    return rows if most is None or len(rows) <= most else sample_rows(rows, most)
