"""What a run would be and would cost, from a few updates of a copy that is thrown away."""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from torch import nn

from rota.budgets import UPDATES, read_budget
from rota.errors import RotaError
from rota.evaluation import EvaluationBudget
from rota.methods import InnerRuns, Method, Recipe, RunContext, Stage
from rota.plans import Plan, make_plan
from rota.runlog import LOG, Run
from rota.runs._prepare import Prepared, method_of, prepare
from rota.runs._run_plan import train_prepared
from rota.runs._stopwatch import EnoughError, Stopwatch
from rota.settings import Settings
from rota.streams import rows_per_step
from rota.tasks import Task

CHECKPOINTS = 2  # are kept
JOINT = "JointStream"  # has a batch of every task in every step


@dataclass(frozen=True)
class TaskForecast:
    """What one task would get.

    Args:
        kind: Of its answers.
        rows: By split.
        batch: Rows in an update, of all processes and forward passes; 0 where it is only evaluated.
        share: Of the updates, under the mixture at the beginning.
        passes: Over its training rows, under that mixture.
        counted: Whether its score counts.

    >>> rows = {"train": 800, "dev": 100}
    >>> task = TaskForecast("classification (2 classes)", rows, batch=32, share=0.5, passes=1.0, counted=True)
    >>> task.passes * task.rows["train"] / task.batch  # updates with a batch of it
    25.0
    """

    kind: str
    rows: Mapping[str, int]
    batch: int
    share: float
    passes: float
    counted: bool


@dataclass(frozen=True)
class Forecast:
    """What a run would be and would cost. Nothing of it has been trained.

    Args:
        plan: With nothing left open.
        options: All options of its method.
        tasks: By name.
        policy: The class of the policy.
        stream: The class that makes batches of it.
        evaluation: When, on which rows, and which share of the cost.
        parameters: Of the model.
        trained: Those of them that are not frozen.
        device: Where it would be trained.
        checkpoint_bytes: On the disk.
        folder_bytes: Of the whole run on the disk, at its end.
        memory_bytes: Parameters, gradients and the optimizer's states; activations come on top.
        update_seconds: Of one update, measured.
        evaluation_seconds: Of one evaluation during training, measured.
        seconds: From the first update to the scores of the best model, on the machine as it is now.
        alone_seconds: The same if nobody else used the machine. Known for CPUs only.
        ready_seconds: Before that: reading data, making the model; measured.
        threads: Of the CPU.
        before: What its method trains first, each with the forecast of one training.
        asked_seconds: That the forecast itself took.

    >>> found = forecast(make_plan({"tasks": ["digits"], "only": ["left"], "method": "uniform", "steps": 100}))
    >>> found.policy, found.parameters == found.trained, found.total_bytes > found.checkpoint_bytes
    ('Fixed', True, True)
    """

    plan: Plan
    options: Mapping[str, Any]
    tasks: Mapping[str, TaskForecast]
    policy: str
    stream: str
    evaluation: EvaluationBudget
    parameters: int
    trained: int
    device: str
    checkpoint_bytes: int
    folder_bytes: int
    memory_bytes: int
    update_seconds: float
    evaluation_seconds: float
    seconds: float
    alone_seconds: float
    ready_seconds: float
    threads: int
    before: Sequence[tuple[Stage, Forecast]] = ()
    asked_seconds: float = 0.0

    @property
    def total_seconds(self) -> float:
        """Of all that is trained, with what comes before the first updates."""
        own = self.ready_seconds + self.seconds
        return own + sum(stage.runs * inner.total_seconds for stage, inner in self.before)

    @property
    def total_alone_seconds(self) -> float:
        """The same if nobody else used the machine."""
        ready = self.ready_seconds * self.alone_seconds / max(self.seconds, 1e-9)
        return ready + self.alone_seconds + sum(stage.runs * own.total_alone_seconds for stage, own in self.before)

    @property
    def total_bytes(self) -> int:
        """Of all that is trained, on the disk."""
        return self.folder_bytes + sum(stage.runs * inner.total_bytes for stage, inner in self.before)


def forecast(plan: Plan) -> Forecast:
    """What a run of this plan would be, and would cost: a copy of it makes a few updates in a temporary folder.

    Where its method trains other runs first, they have forecasts, too. What they will find does not change the cost.

    >>> plan = make_plan({"tasks": ["digits"], "only": ["left", "right"], "method": "uniform", "steps": 100})
    >>> found = forecast(plan)
    >>> found.tasks["left"].share, found.evaluation.every, found.total_seconds > 0
    (0.5, 5, True)
    """
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        raise RotaError("A forecast expects one process. Found several. Ask for it without torchrun.")

    def refused(*_: Any, **__: Any) -> NoReturn:
        raise RotaError(
            f"A forecast expects a method that trains nothing before its run, or says what. Found '{plan.method}', "
            f"which trains other runs first. Ask for the method of those runs, such as uniform."
        )

    stages: list[Stage] = []

    def foresee(method: Method, options: Mapping[str, Any], context: RunContext) -> Recipe:
        found, recipe = method.foresee(options, context)
        stages.extend(found)
        return recipe

    began, watch = time.perf_counter(), Stopwatch()
    with tempfile.TemporaryDirectory(prefix="rota-forecast-") as place:
        inner = InnerRuns(refused, plan, Path(place) / "inner", progress=False, told=False, outer=False)
        run, folder = prepare(plan, inner, make=foresee), Path(place) / "run"
        # The copy writes no checkpoint; all else is as in the run itself.
        rare = {"checkpoint_every": run.plan.steps}
        copy = Prepared(run.plan.model_copy(update=rare), run.tasks, run.model, run.recipe)
        with contextlib.suppress(EnoughError):
            train_prepared(copy, folder, inner, False, False, [watch])
        found = _forecast(run, Run(folder).info, _line_sizes(folder / LOG), watch, watch.began - began)
    common = {**inner.plan.model_dump(exclude_unset=True, exclude={"observe"}), "budget": UPDATES}
    plans = [make_plan({**common, **stage.changes}) for stage in stages]
    before = [(stage, forecast(own)) for stage, own in zip(stages, plans, strict=True)]
    return replace(found, before=before, asked_seconds=time.perf_counter() - began)


def _forecast(
    run: Prepared, info: Mapping[str, Any], lines: Mapping[str, float], watch: Stopwatch, ready: float
) -> Forecast:
    settled = {**info["plan"], "checkpoint_every": run.plan.checkpoint_every}
    plan, budget = Plan.model_validate(settled), EvaluationBudget(**info["evaluation"])
    parts = list(run.model.parameters())
    trained = sum(_bytes(part) for part in parts if part.requires_grad)
    states = trained * _states(plan, sum(task.trained for task in run.tasks))
    weights = sum(_bytes(tensor) for tensor in run.model.state_dict().values())
    length = read_budget(plan.budget)
    evaluations = 1 + math.ceil((plan.steps if length is None else length.amount) / budget.every)
    kept = 1 + (sum(task.counted for task in run.tasks) if plan.best == "each" else 0)
    log = plan.steps * lines.get("step", 0.0) + evaluations * lines.get("eval", 0.0)
    looks = evaluations + kept * _at_end(run.tasks, budget)
    seconds = plan.steps * watch.update.now + looks * watch.evaluation.now
    alone = plan.steps * watch.update.alone + looks * watch.evaluation.alone
    seen = info["device"] == "cpu" and not plan.num_workers  # else the thread waits for others who work for it
    return Forecast(
        plan=plan,
        options=method_of(plan).checked(plan.options).model_dump(),
        tasks=_tasks(run, plan, info),
        policy=info["policy"],
        stream=info["stream"],
        evaluation=budget,
        parameters=info["parameters"],
        trained=sum(part.numel() for part in parts if part.requires_grad),
        device=info["device"],
        checkpoint_bytes=weights + states,
        folder_bytes=CHECKPOINTS * (weights + states) + kept * weights + round(log),
        memory_bytes=sum(map(_bytes, parts)) + trained + states,
        update_seconds=watch.update.now,
        evaluation_seconds=watch.evaluation.now,
        seconds=seconds,
        alone_seconds=min(alone, seconds) if seen else seconds,
        ready_seconds=ready,
        threads=info["threads"],
    )


def _tasks(run: Prepared, plan: Plan, info: Mapping[str, Any]) -> dict[str, TaskForecast]:
    trained = [task for task in run.tasks if task.trained]
    batches = rows_per_step(trained, plan.batch_size, plan.accumulate)
    found = {}
    for task in run.tasks:
        share, batch = info["mixture"].get(task.name, 0.0), batches.get(task.name, 0)
        turns = plan.steps * (1.0 if info["stream"] == JOINT else share)
        rows = {split: task.size(split) for split in task.splits}
        passes = turns * batch / task.size() if batch else 0.0
        found[task.name] = TaskForecast(repr(task.kind), rows, batch, share, passes, task.counted)
    return found


def _at_end(tasks: Sequence[Task], budget: EvaluationBudget) -> float:
    """What scoring the best model costs, in evaluations during training."""
    dev = [task.size("dev") for task in tasks]
    compared = sum(min(size, budget.rows or size) for size in dev)
    rows = sum(task.size("test") for task in tasks) + (2 * sum(dev) if budget.all_at_end else 0)
    return rows / max(1, compared)


def _states(settings: Settings, tasks: int) -> int:
    """Numbers that the optimizer keeps for each parameter."""
    each = (1 if settings.momentum else 0) if settings.optimizer == "sgd" else 2
    return each * (tasks if settings.optimizer_per_task else 1)


def _bytes(tensor: nn.Parameter | Any) -> int:
    return int(tensor.numel() * tensor.element_size())


def _line_sizes(log: Path) -> dict[str, float]:
    """The mean size of a line of each kind."""
    sizes: dict[str, list[int]] = {}
    for line in log.read_bytes().splitlines(keepends=True):
        sizes.setdefault(json.loads(line)["kind"], []).append(len(line))
    return {kind: sum(own) / len(own) for kind, own in sizes.items()}
