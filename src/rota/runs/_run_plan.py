"""From a plan to a finished run folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rota.callbacks import Callback
from rota.errors import unknown_name
from rota.methods import METHODS, InnerRuns, Method, Recipe, RunContext
from rota.models import Pretrained
from rota.plans import Plan, tasks_of
from rota.policies import WithEnds
from rota.runlog import RUN, Run
from rota.runs._build import make_model, started_plan_of, tasks_for
from rota.runs._named_streams import stream_from
from rota.sources import source_from
from rota.streams import batches_per_pass, rows_per_step
from rota.tasks import Task, check_tasks
from rota.training import fit, refuse_old

PRETRAINED_RATE = 5e-5


def run_plan(
    plan: Plan,
    folder: Path,
    *,
    resume: bool | str = False,
    progress: bool = True,
    callbacks: Sequence[Callback] = (),
) -> Run:
    """Do what the plan says and keep it in `folder`.

    Args:
        plan: What to do.
        folder: A new run folder, or with `resume` an existing one.
        resume: True, or the name of the checkpoint to continue from.
        progress: Whether to show a progress bar.
        callbacks: Who hears of what happens, and may end the run.
    """
    method = METHODS.get(plan.method)
    if method is None:
        raise unknown_name("method", plan.method, METHODS)
    first = int(os.environ.get("RANK", 0)) == 0  # of the processes that torchrun started
    if first and not resume:
        refuse_old(folder)  # before anybody waits for the data
    if plan.start is not None:
        plan = started_plan_of(plan)
    tasks = tasks_of(plan)
    check_tasks(tasks)  # before a policy meets their sizes
    inner = InnerRuns(run_plan, plan, folder, progress)
    recipe = _recipe(method, plan, [task for task in tasks if task.trained], inner)
    tasks = _taking_part(recipe, tasks)
    if plan.target is None:
        unsaid = {name: value for name, value in recipe.settings.items() if name not in plan.model_fields_set}
        plan = plan.model_copy(update=unsaid)
    model = make_model(plan, tasks)
    if plan.lr is None and isinstance(model.encoder, Pretrained):
        plan = plan.model_copy(update={"lr": PRETRAINED_RATE})
    return fit(
        model,
        tasks_for(model, plan, tasks),
        recipe.policy,
        folder,
        plan,
        stream=stream_from(recipe.stream),
        listen=None if recipe.listen is None else [source_from(own) for own in recipe.listen],
        callbacks=callbacks,
        before=inner.runs,
        resume=resume if (folder / RUN).is_file() else False,  # it may have died in an inner run
        progress=progress,
    )


def _recipe(method: Method, plan: Plan, tasks: list[Task], inner: InnerRuns) -> Recipe:
    sizes = {task.name: task.size() for task in tasks}
    processes = int(os.environ.get("WORLD_SIZE", 1))  # as torchrun says; each works on its part of a batch
    batches = batches_per_pass(sizes, rows_per_step(tasks, plan.batch_size, plan.accumulate * processes))
    counted = [task.name for task in tasks if task.counted]
    target = counted[0] if len(counted) == 1 else None
    recipe = method.make(plan.options, RunContext(sizes, batches, plan.steps, plan.seed, target, inner, tasks))
    ends = {task.name: task.stop_after for task in tasks if task.stop_after is not None}
    return replace(recipe, policy=WithEnds(recipe.policy, ends)) if ends else recipe


def _taking_part(recipe: Recipe, tasks: Sequence[Task]) -> list[Task]:
    """A method may leave tasks out."""
    if recipe.tasks is not None:
        return [task for task in tasks if task.name in recipe.tasks]
    return [task for task in tasks if not task.trained or task.name in recipe.policy.tasks]
