"""A new task for a trained model: how it begins, and how few rows it needs (CA-MTL, tables 3 and 8)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from rota.errors import RotaError, unknown_name
from rota.evaluation import evaluate, evaluation_tasks
from rota.inference import Trained
from rota.models import BEGINNINGS, Adapted, Conditional, MultiTaskModel, Pretrained
from rota.plans import Plan, tasks_of
from rota.runlog import RUN, only_writer, write_json
from rota.runs._run_plan import run_plan
from rota.seeds import integer
from rota.tasks import Task, check_tasks, limit_rows

ADAPTED = "adapt.json"


@dataclass
class Adaptation:
    """What came out.

    Args:
        task: The new task.
        zero_shot: By what the task's vector begins as: the dev scores of untrained heads.
        embedding: The beginning that was chosen.
        scores: By share of the rows: their number, the updates, and the dev score from the trained model (`adapted`)
            and from the encoder that this was made of (`fresh`).

    >>> scores = {"0.1": {"rows": 80, "steps": 100, "adapted": 0.71, "fresh": 0.58}}
    >>> found = Adaptation("rte", zero_shot={"mnli": [0.62], "average": [0.51]}, embedding="mnli", scores=scores)
    >>> round(found.scores["0.1"]["adapted"] - found.scores["0.1"]["fresh"], 2)  # what the trained model was worth
    0.13
    """

    task: str
    zero_shot: dict[str, list[float]] = field(default_factory=dict)
    embedding: str | None = None
    scores: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Adapting:
    """How a new task is learned.

    Args:
        start: The run whose model learns it.
        plan: How it is trained; its tasks are the new one.
        fractions: Shares of the training rows.
        epochs: Passes over the rows, with at least `least` and at most `plan.steps` updates.
        least: Updates, so that a few rows are learned at all.
        heads: Untrained heads with which each beginning is scored: one of them says little.
        fresh: Whether the encoder that the run began with learns it, too, for comparison.

    >>> import tempfile
    >>> from rota.plans import make_plan
    >>> fields = {"tasks": ["digits"], "steps": 2, "device": "cpu"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = run_plan(make_plan({**fields, "only": ["left"]}), Path(folder) / "run", progress=False)
    ...     plans = Adapting(run.folder, make_plan({**fields, "only": ["right"]}), fractions=[0.1]).plans()
    >>> {name: own.rows for name, own in plans.items()}
    {'adapted-0.1': {'right': 40}, 'fresh-0.1': {'right': 40}}
    """

    start: Path
    plan: Plan
    fractions: Sequence[float] = (0.001, 0.01, 0.1, 1.0)
    epochs: int = 5
    least: int = 100
    heads: int = 3
    fresh: bool = True

    def __call__(self, folder: Path, embedding: str | None = None, say: Callable[[str], None] = print) -> Adaptation:
        """Learn it, in runs that are kept in `folder`; what is finished there is not trained again.

        Args:
            folder: Where.
            embedding: What the task's vector begins as; by default what scores best.
            say: Hears what is going on.
        """
        with only_writer(folder):
            return self._learn(folder, embedding, say)

    def _learn(self, folder: Path, embedding: str | None, say: Callable[[str], None]) -> Adaptation:
        trained, plan, task = self._read()
        shares = self._learnable(task, say)
        found = Adaptation(task.name)
        if isinstance(trained.with_heads.encoder, Conditional):
            known = [*trained.with_heads.heads, *BEGINNINGS]
            if embedding is not None and embedding not in known:
                raise unknown_name("beginning of the vector", embedding, known)
            say(f"Scoring what the vector of {task.name} can begin as")
            found.zero_shot = self._zero_shot(trained.with_heads, task, plan)
            best = max(found.zero_shot, key=lambda name: _mean(found.zero_shot[name]))
            found.embedding = embedding or best
        for fraction, rows in shares.items():
            plans = self._plans(plan, task.name, rows, found.embedding)
            own: dict[str, Any] = {"rows": rows, "steps": plans["adapted"].steps}
            for kind, changed in plans.items():
                own[kind] = self._score(changed, folder / f"{kind}-{fraction:g}", say)
            found.scores[f"{fraction:g}"] = own
        write_json(folder / ADAPTED, vars(found))
        return found

    def plans(self, embedding: str | None = None, say: Callable[[str], None] = print) -> dict[str, Plan]:
        """Everything that would be trained, by the name of its folder; for a forecast."""
        _, plan, task = self._read()
        return {
            f"{kind}-{fraction:g}": own
            for fraction, rows in self._learnable(task, say).items()
            for kind, own in self._plans(plan, task.name, rows, embedding).items()
        }

    def _read(self) -> tuple[Trained, Plan, Task]:
        """The trained model, the plan with what it says, and the new task."""
        trained = Trained(self.start)
        theirs = {
            name: getattr(trained.plan, name) for name in ("model", "longest", "pooling", "head_hidden", "dropout")
        }
        encoder = trained.with_heads.encoder  # all of it is trained, but for what adapters leave frozen
        everything = 0 if isinstance(encoder, Pretrained) and not isinstance(encoder, Adapted) else None
        theirs |= {"data": self.plan.data or trained.plan.data, "freeze": everything}
        plan = self.plan.model_copy(update=theirs)
        tasks = tasks_of(plan)
        check_tasks(tasks)
        if len(tasks) != 1:
            raise RotaError(f"Expected one new task. Found {', '.join(task.name for task in tasks)}.")
        if tasks[0].name in trained.with_heads.heads:
            raise RotaError(f"Expected a task that {self.start} does not know yet. Found '{tasks[0].name}'.")
        return trained, plan, tasks[0]

    def _plans(self, plan: Plan, task: str, rows: int, embedding: str | None) -> dict[str, Plan]:
        """From the trained model, and from the encoder that it was made of, with so many rows."""
        steps = min(plan.steps, max(self.least, self.epochs * math.ceil(rows / plan.batch_size)))
        few = {"rows": {task: rows}, "steps": steps}
        as_it_is = {"pooling": None, "head_hidden": None, "dropout": None}
        start = {"start": str(self.start), "embedding": embedding or "average", **as_it_is}
        plans = {"adapted": plan.model_copy(update={**few, **start})}
        if self.fresh:
            plans["fresh"] = plan.model_copy(update={**few, "model": _plain(plan.model)})
        return plans

    def _learnable(self, task: Task, say: Callable[[str], None]) -> dict[float, int]:
        """The numbers of rows, but for those from which nothing can be learned."""
        found = {}
        for fraction in self.fractions:
            rows = max(1, round(fraction * task.size()))
            try:
                check_tasks(limit_rows([task], {task.name: rows}))
            except RotaError as error:
                say(f"{rows} rows are left out: {error}")
            else:
                found[fraction] = rows
        if not found:
            raise RotaError(
                f"Expected a share of {task.size()} rows that can be learned from. Found none. Raise "
                f"Adapting(fractions=…)."
            )
        return found

    def _zero_shot(self, model: MultiTaskModel, task: Task, plan: Plan) -> dict[str, list[float]]:
        """The dev scores of untrained heads, for all that the vector can begin as."""
        dev = evaluation_tasks([task], plan.eval_rows)
        return {
            init: [self._untrained(copy.deepcopy(model), init, number, dev[0]) for number in range(self.heads)]
            for init in (*model.heads, *BEGINNINGS)
        }

    def _untrained(self, model: MultiTaskModel, init: str, number: int, task: Task) -> float:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(integer(self.plan.seed, "zero-shot", number))
            model.add_task(task.name, task.kind, init)
        return float(evaluate(model.eval(), [task])["tasks"][task.name]["score"])

    def _score(self, plan: Plan, folder: Path, say: Callable[[str], None]) -> float:
        say(f"{folder.name}: {next(iter(plan.rows.values()))} rows, {plan.steps} updates")
        run = run_plan(plan, folder, resume=(folder / RUN).is_file(), progress=False)
        return float(run.summary["best"]["dev"]["average"])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _plain(model: str) -> str:
    """The encoder around which a model is made."""
    kind, _, name = model.partition(":")
    return (name or "auto") if kind == "camtl" else model
