"""From a plan to a finished run folder."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from rota import signals
from rota.errors import RotaError, unknown_name
from rota.methods._inner import InnerRuns
from rota.methods._method import Given, Method
from rota.methods._model import make_model, started_plan_of, tasks_for
from rota.methods._plan import Plan
from rota.methods._table import METHODS
from rota.methods._tasks import tasks_of
from rota.models import Pretrained
from rota.policies import Policy, WithEnds
from rota.runlog import RUN, Run
from rota.streams import JointStream, MixedStream, PoolStream, Stream, TaskStream, batches_per_pass, rows_per_step
from rota.tasks import Task, check_tasks
from rota.training import Watch, fit, refuse_old

STREAMS: dict[str, type[Stream]] = {
    "task": TaskStream,
    "joint": JointStream,
    "mixed": MixedStream,
    "pool": PoolStream,
}
PRETRAINED_RATE = 5e-5


def run_plan(
    plan: Plan, folder: Path, *, resume: bool | str = False, progress: bool = True, watch: Watch | None = None
) -> Run:
    """Do what the plan says and keep it in `folder`.

    Args:
        plan: What to do.
        folder: A new run folder, or with `resume` an existing one.
        resume: True, or the name of the checkpoint to continue from.
        progress: Whether to show a progress bar.
        watch: Hears of each evaluation, and says whether to give the run up.
    """
    method = METHODS.get(plan.method)
    if method is None:
        raise unknown_name("method", plan.method, METHODS)
    first = int(os.environ.get("RANK", 0)) == 0  # of the processes that torchrun started
    if first and not resume:
        refuse_old(folder)  # before anybody waits for the data
    if plan.start is not None:
        plan = started_plan_of(plan)
    if method.best is not None and plan.target is None and "best" not in plan.model_fields_set:
        plan = plan.model_copy(update={"best": method.best})
    tasks = _tasks(method, plan)
    check_tasks(tasks)  # before a policy meets their sizes
    inner = InnerRuns(plan, folder, progress)
    policy = _policy(method, plan, [task for task in tasks if task.trained], inner)
    tasks = [task for task in tasks if not task.trained or task.name in policy.tasks]  # a method may leave some out
    model = make_model(plan, tasks)
    if plan.lr is None and isinstance(model.encoder, Pretrained):
        plan = plan.model_copy(update={"lr": PRETRAINED_RATE})
    return fit(
        model,
        tasks_for(model, plan, tasks),
        policy,
        folder,
        plan,
        stream=functools.partial(STREAMS[method.stream], **method.picking(plan.options)),
        signal=getattr(signals, method.signal) if method.signal else None,
        survey=method.survey(plan.options),
        resume=resume if (folder / RUN).is_file() else False,  # it may have died in an inner run
        progress=progress,
        before=inner.runs,
        trial=method.trial(plan.options),
        reward=method.reward(plan.options),
        watch=watch,
        tell_scores=method.tell_scores,
    )


def _tasks(method: Method, plan: Plan) -> list[Task]:
    """The tasks of the plan that the method trains."""
    tasks = tasks_of(plan)
    trained = [task.name for task in tasks if task.trained]
    if method.target_only:
        target = plan.target or (trained[0] if len(trained) == 1 else None)
        if target is None:
            raise RotaError(f"Method '{method.name}' expects a target. Choose one of {', '.join(trained)}: --target.")
        return [task for task in tasks if task.name == target]
    if method.make_trial and len(trained) < 2:
        raise RotaError(
            f"Method '{method.name}' expects other tasks beside the target. Found {', '.join(trained)} alone. Add some "
            f"to --tasks, or train it by --method singletask."
        )
    return tasks


def _policy(method: Method, plan: Plan, tasks: list[Task], inner: InnerRuns) -> Policy:
    sizes = {task.name: task.size() for task in tasks}
    processes = int(os.environ.get("WORLD_SIZE", 1))  # as torchrun says; each works on its part of a batch
    batches = batches_per_pass(sizes, rows_per_step(tasks, plan.batch_size, plan.accumulate * processes))
    counted = [task.name for task in tasks if task.counted]
    target = counted[0] if len(counted) == 1 else None
    policy = method.policy(Given(sizes, batches, plan.steps, plan.seed, target, inner, tasks), plan.options)
    ends = {task.name: task.stop_after for task in tasks if task.stop_after is not None}
    return WithEnds(policy, ends) if ends else policy
