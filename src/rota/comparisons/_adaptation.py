"""A new task for a trained model: how it begins, and how few rows it needs (CA-MTL, tables 3 and 8)."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rota.comparisons._cells import run_comparison
from rota.comparisons._comparison import ADAPTED, COMPARISON, FRESH, Cell, Comparison
from rota.errors import RotaError, unknown_name
from rota.evaluation import evaluate, evaluation_tasks
from rota.inference import Trained
from rota.models import BEGINNINGS, Adapted, Conditional, MultiTaskModel, Pretrained, make_adapter
from rota.names import folder_name
from rota.plans import Plan, tasks_of
from rota.runlog import RUN, Run, only_writer, write_json
from rota.seeds import integer
from rota.tasks import Task, check_tasks, limit_rows

OUTCOME = "adapt.json"


@dataclass
class Adaptation:
    """What came out.

    Args:
        task: The new task.
        zero_shot: By what the task's vector begins as: the dev scores of untrained heads.
        embedding: The beginning that was chosen.
        scores: By share of the rows: their number, the updates, and for everything that learned the task its mean dev
            score: the trained model (`adapted`), the encoder that it was made of (`fresh`), and what was put beside.
        by_seed: By share of the rows, and by what learned the task: the dev score of each seed.

    >>> scores = {"0.1": {"rows": 80, "steps": 100, "adapted": 0.71, "fresh": 0.58}}
    >>> found = Adaptation("rte", zero_shot={"mnli": [0.62], "average": [0.51]}, embedding="mnli", scores=scores)
    >>> round(found.scores["0.1"]["adapted"] - found.scores["0.1"]["fresh"], 2)  # what the trained model was worth
    0.13
    """

    task: str
    zero_shot: dict[str, list[float]] = field(default_factory=dict)
    embedding: str | None = None
    scores: dict[str, dict[str, Any]] = field(default_factory=dict)
    by_seed: dict[str, dict[str, dict[int, float]]] = field(default_factory=dict)


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
        beside: What else learns it: other runs, or adapters such as "lora:r=8" in the encoder that the run began with.
        seeds: Each of which trains everything once; by default that of the plan.
        fewest: Rows, however small a share of them is.

    >>> import tempfile
    >>> from rota.plans import make_plan
    >>> from rota.runs import run_plan
    >>> fields = {"tasks": ["digits"], "steps": 2, "device": "cpu"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = run_plan(make_plan({**fields, "only": ["left"]}), Path(folder) / "run", progress=False)
    ...     adapting = Adapting(run.folder, make_plan({**fields, "only": ["right"]}), [0.1], seeds=[0, 1], fresh=False)
    ...     {cell.name: cell.plan.rows for cell in adapting.comparison().cells}
    {'adapted-0.1-0': {'right': 40}, 'adapted-0.1-1': {'right': 40}}
    """

    start: Path
    plan: Plan
    fractions: Sequence[float] = (0.001, 0.01, 0.1, 1.0)
    epochs: int = 5
    least: int = 100
    heads: int = 3
    fresh: bool = True
    beside: Sequence[str] = ()
    seeds: Sequence[int] = ()
    fewest: int = 16

    def __call__(self, folder: Path, embedding: str | None = None, say: Callable[[str], None] = print) -> Adaptation:
        """Learn it, in runs that are kept in `folder`; what is finished there is not trained again.

        Args:
            folder: Where.
            embedding: What the task's vector begins as; by default what scores best.
            say: Hears what is going on.
        """
        with only_writer(folder):
            found = self.begun(embedding, say)
            comparison = self.comparison(found.embedding, say)
            write_json(folder / COMPARISON, comparison.described())
            runs = {}
            for event in run_comparison(comparison, folder):
                if event.kind == "started" and event.cell is not None:
                    say(f"{event.cell.name}: {_rows_of(event.cell.plan)} rows, {event.cell.plan.steps} updates")
                if event.kind == "failed" and event.cell is not None:
                    raise RotaError(f"{event.cell.name} expects to be trained. Found: {event.said}")
                if event.cell is not None and event.run is not None:
                    runs[event.cell.variant, event.cell.seed] = event.run
            return self.ended(found, comparison, runs, folder)

    def begun(self, embedding: str | None = None, say: Callable[[str], None] = print) -> Adaptation:
        """What there is to say before anything is trained: as what the task's vector begins, if the model has one."""
        trained, plan, task = self._learner
        self._plans(plan, None)  # what cannot stand beside is refused before anything is scored
        found = Adaptation(task.name)
        if isinstance(trained.with_heads.encoder, Conditional):
            known = [*trained.with_heads.heads, *BEGINNINGS]
            if embedding is not None and embedding not in known:
                raise unknown_name("beginning of the vector", embedding, known)
            say(f"Scoring what the vector of {task.name} can begin as")
            found.zero_shot = self._zero_shot(trained.with_heads, task)
            best = max(found.zero_shot, key=lambda name: _mean(found.zero_shot[name]))
            found.embedding = embedding or best
        return found

    def comparison(self, embedding: str | None = None, say: Callable[[str], None] = print) -> Comparison:
        """Everything that is trained: each learner with each share of the rows, for each seed.

        Args:
            embedding: What the vector of the task begins as in the model of the run.
            say: Hears which shares are left out.
        """
        _, plan, task = self._learner
        shares = self._learnable(task, say)
        variants = {
            _variant(learner, fraction): self._with_rows(own, task.name, rows)
            for fraction, rows in shares.items()
            for learner, own in self._plans(plan, embedding).items()
        }
        cells = [
            Cell(name, seed, own.model_copy(update={"seed": seed}))
            for seed in self.seeds or [plan.seed]
            for name, own in variants.items()
        ]
        baseline = _variant(FRESH if self.fresh else ADAPTED, max(shares))
        return Comparison(f"{task.name}, new for {self.start.name}", tuple(cells), baseline)

    def ended(
        self, found: Adaptation, comparison: Comparison, runs: Mapping[tuple[str, int], Run], folder: Path
    ) -> Adaptation:
        """What came out of these runs, by variant and seed; it is kept in `folder`, too."""
        for cell in comparison.cells:
            if (cell.variant, cell.seed) in runs:
                learner, _, share = cell.variant.rpartition("-")
                score = float(runs[cell.variant, cell.seed].summary["best"]["dev"]["average"])
                found.by_seed.setdefault(share, {}).setdefault(learner, {})[cell.seed] = score
                found.scores[share] = {"rows": _rows_of(cell.plan), "steps": cell.plan.steps}
        for share, learners in found.by_seed.items():
            found.scores[share] |= {learner: _mean(list(own.values())) for learner, own in learners.items()}
        write_json(folder / OUTCOME, vars(found))
        return found

    @functools.cached_property
    def _learner(self) -> tuple[Trained, Plan, Task]:
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

    def _plans(self, plan: Plan, embedding: str | None) -> dict[str, Plan]:
        """By what learns the task: the run's model, the encoder that it was made of, and what is put beside."""
        as_it_is = {"pooling": None, "head_hidden": None, "dropout": None}
        start = {"start": str(self.start), "embedding": embedding or "average", **as_it_is}
        plans = {ADAPTED: plan.model_copy(update=start)}
        encoder = {"model": _plain(plan.model)}
        if self.fresh:
            plans[FRESH] = plan.model_copy(update=encoder)
        for other in self.beside:
            name = folder_name(Path(other).name.replace(":", "-"), "learner")
            if name in plans:
                raise RotaError(f"What learns the task expects names of its own. Found '{name}' twice.")
            if (Path(other) / RUN).is_file():
                its = replace(self, start=Path(other), beside=(), fresh=False)
                plans[name] = its._plans(its._learner[1], None)[ADAPTED]
            else:
                make_adapter(other)  # refuses what is neither
                plans[name] = plan.model_copy(update={**encoder, "adapter": other, "freeze": None})
        return plans

    def _with_rows(self, plan: Plan, task: str, rows: int) -> Plan:
        steps = min(plan.steps, max(self.least, self.epochs * math.ceil(rows / plan.batch_size)))
        return plan.model_copy(update={"rows": {task: rows}, "steps": steps})

    def _learnable(self, task: Task, say: Callable[[str], None]) -> dict[float, int]:
        """The numbers of rows, but for those from which nothing can be learned."""
        found = {}
        for fraction in self.fractions:
            rows = min(max(self.fewest, round(fraction * task.size())), task.size())
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

    def _zero_shot(self, model: MultiTaskModel, task: Task) -> dict[str, list[float]]:
        """The dev scores of untrained heads, for all that the vector can begin as."""
        dev = evaluation_tasks([task], self.plan.eval_rows)
        return {
            init: [self._untrained(copy.deepcopy(model), init, number, dev[0]) for number in range(self.heads)]
            for init in (*model.heads, *BEGINNINGS)
        }

    def _untrained(self, model: MultiTaskModel, init: str, number: int, task: Task) -> float:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(integer(self.plan.seed, "zero-shot", number))
            model.add_task(task.name, task.kind, init)
        return float(evaluate(model.eval(), [task])["tasks"][task.name]["score"])


def _variant(learner: str, fraction: float) -> str:
    return f"{learner}-{np.format_float_positional(fraction, trim='-')}"


def _rows_of(plan: Plan) -> int:
    return next(iter(plan.rows.values()))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _plain(model: str) -> str:
    """The encoder around which a model is made."""
    kind, _, name = model.partition(":")
    return (name or "auto") if kind == "camtl" else model
