"""Everything that is settled before the first update."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rota.errors import unknown_name
from rota.methods import METHODS, InnerRuns, Method, Recipe, RunContext
from rota.models import LanguageModel, MultiTaskModel, Pretrained, tokenizer_name
from rota.plans import Plan, tasks_of
from rota.policies import Policy, WithEnds
from rota.runs._build import make_model, started_plan_of, tasks_for
from rota.runs._named_streams import stream_from
from rota.streams import TaskStream, batches_per_pass, rows_per_step, with_expected_steps
from rota.tasks import Task, check_tasks

PRETRAINED_RATE, ADAPTER_RATE, NEW_RATE = 5e-5, 2e-4, 1e-3
"""Learning rates where none is asked for: of pretrained models, of LoRA in a language model, of a new one."""


@dataclass(frozen=True)
class Prepared:
    """A run that can begin.

    Args:
        plan: With what its method, its model and the run that it starts from say.
        tasks: Those that take part.
        model: New, or that of the run it starts from.
        recipe: What its method comes to.
    """

    plan: Plan
    tasks: list[Task]
    model: MultiTaskModel | LanguageModel
    recipe: Recipe


def method_of(plan: Plan) -> Method:
    """The method of a plan; refuse one that there is not."""
    if plan.method not in METHODS:
        raise unknown_name("method", plan.method, METHODS)
    return METHODS[plan.method]


Make = Callable[[Method, Mapping[str, Any], RunContext], Recipe]
"""Asks a method for its recipe."""


def prepare(plan: Plan, inner: InnerRuns, processes: int = 1, make: Make = Method.make) -> Prepared:
    """Read the data, ask the method for its recipe and make the model.

    Args:
        plan: What is asked for.
        inner: Who trains what a method wants to see trained before.
        processes: In which the run begins, or began; each works on its part of a batch.
        make: Asks the method; a forecast asks for something else.
    """
    method = method_of(plan)
    if plan.start is not None:
        plan = inner.plan = started_plan_of(plan)
    tasks = tasks_of(plan)
    check_tasks(tasks)  # before a policy meets their sizes
    trained = [task for task in tasks if task.trained]
    plan = inner.plan = with_expected_steps(plan, trained, processes, TaskStream)  # the horizon of its policy
    recipe = _recipe(functools.partial(make, method), plan, trained, inner, processes)
    tasks = _taking_part(recipe, tasks)
    trained = [task for task in tasks if task.trained]
    plan = with_expected_steps(plan, trained, processes, stream_from(recipe.stream))
    if plan.target is None:
        unsaid = {name: value for name, value in recipe.settings.items() if name not in plan.model_fields_set}
        plan = plan.model_copy(update=unsaid)
    model = make_model(plan, tasks)
    rate = _usual_rate(model, plan)
    if plan.lr is None and rate is not None:
        plan = plan.model_copy(update={"lr": rate})
    return Prepared(plan, tasks_for(model, plan, tasks), model, recipe)


def _usual_rate(model: MultiTaskModel | LanguageModel, plan: Plan) -> float | None:
    if isinstance(model, LanguageModel):
        new = tokenizer_name(plan.model) != plan.model
        return ADAPTER_RATE if model.adapter else NEW_RATE if new else PRETRAINED_RATE
    return PRETRAINED_RATE if isinstance(model.encoder, Pretrained) else None


def policy_of(plan: Plan, inner: InnerRuns, processes: int = 1) -> Policy:
    """The policy that a plan comes to, as it begins."""
    if plan.start is not None:
        plan = started_plan_of(plan)
    trained = [task for task in tasks_of(plan) if task.trained]
    plan = with_expected_steps(plan, trained, processes, TaskStream)
    return _recipe(functools.partial(Method.make, method_of(plan)), plan, trained, inner, processes).policy


def _recipe(make: Callable[..., Recipe], plan: Plan, tasks: list[Task], inner: InnerRuns, processes: int) -> Recipe:
    sizes = {task.name: task.size() for task in tasks}
    batches = batches_per_pass(sizes, rows_per_step(tasks, plan.batch_size, plan.accumulate * processes))
    counted = [task.name for task in tasks if task.counted]
    target = counted[0] if len(counted) == 1 else None
    recipe = make(plan.options, RunContext(sizes, batches, plan.steps, plan.seed, target, inner, tasks))
    ends = {task.name: task.stop_after for task in tasks if task.stop_after is not None}
    return replace(recipe, policy=WithEnds(recipe.policy, ends)) if ends else recipe


def _taking_part(recipe: Recipe, tasks: Sequence[Task]) -> list[Task]:
    """A method may leave tasks out."""
    if recipe.tasks is not None:
        return [task for task in tasks if task.name in recipe.tasks]
    return [task for task in tasks if not task.trained or task.name in recipe.policy.tasks]
