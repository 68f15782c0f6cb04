"""`fit`: from what a person says to a run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from rota.callbacks import Callback
from rota.deprecation import renamed_arguments
from rota.engine import Trainer
from rota.errors import RotaError
from rota.policies import Policy
from rota.runlog import Run, only_writer
from rota.settings import Settings
from rota.sources import Listen, sources_for
from rota.streams import Streams, TaskStream, with_expected_steps
from rota.tasks import Task, check_tasks, tasks_from
from rota.training._callbacks import Callbacks
from rota.training._distributed import DistributedContext, surroundings, threads_for
from rota.training._elastic import as_begun
from rota.training._loop import TrainingLoop
from rota.training._old_arguments import OLD_ARGUMENTS
from rota.training._own_model import CalledModel, Forward
from rota.training._progress import ProgressBar
from rota.training._resolve import refuse_ignored, resolve_precision
from rota.training._resolve_sharding import resolve_sharding


@renamed_arguments(**OLD_ARGUMENTS)
def fit(
    model: nn.Module,
    tasks: Sequence[Task] | Mapping[str, Any],
    policy: Policy,
    folder: Path | str,
    settings: Settings | None = None,
    *,
    forward: Forward | None = None,
    trainer: Trainer | None = None,
    stream: Streams = TaskStream,
    listen: Listen | Iterable[Listen] | None = None,
    callbacks: Sequence[Callback] = (),
    before: Sequence[Run] = (),
    resume: bool | str = False,
    elastic: bool = False,
    takes_over: Policy | None = None,
    progress: bool = True,
) -> Run:
    """Train `model` on `tasks` as `policy` says, and keep everything in `folder`.

    A run resumes exactly, wherever it was stopped: same choices, same rows, same losses, same weights.

    Args:
        model: Any module that answers `model(task, inputs)`, or that `forward` knows how to ask. Afterwards it holds
            the best weights.
        tasks: What there is to learn; those without training rows are only evaluated. Or data sets by name, whose kinds
            are what their labels look like (`Task.from_dataset`).
        policy: Over the names of the tasks with training rows.
        folder: A new run folder; an existing one is never overwritten.
        settings: Steps, batch size, learning rate, …; written into `run.json` as the plan of the run.
        forward: Asks the model: `lambda model, task, inputs: model(**inputs).logits`.
        trainer: An accelerator, an optimizer and a scheduler of your own.
        stream: `TaskStream` (one task per step), `JointStream` (all tasks, weighted), `MixedStream` (rows of any
            tasks), or what makes one, such as `functools.partial(PoolStream, select=MTUncertainty())`.
        listen: Who tells the policy what it hears: sources of `rota.sources`, functions that turn the `View` of a step
            into a number, or the names of such in `rota.signals`. By default the usual source of each word in
            `policy.hears`; an empty list makes the policy deaf. What it does not hear is measured and logged.
        callbacks: Who hears of what happens, such as a tracker, and may end the run.
        before: Finished runs that were trained for the sake of this one; their cost is counted in its own.
        resume: Continue the run in `folder`: True from its latest checkpoint, or the name of one.
        elastic: Whether a resumed run may go on in another number of processes, or on another device: updates keep
            their rows, and the log says where it changed.
        takes_over: Where a resumed run goes on with other `tasks`: the policy that it had so far, made as it was then.
            `policy`, over the new tasks, takes over what it remembers; so do the parts of the model, the optimizer and
            the rows of tasks that stay. New parameters of the model begin as they are in `model`.
        progress: Whether to show a progress bar.

    >>> import tempfile
    >>> import torch
    >>> from rota.policies import uniform
    >>> x = torch.randn(200, 3, generator=torch.Generator().manual_seed(0))
    >>> data = {"sign": (x, (x[:, 0] > 0).long()), "order": (x, (x[:, 1] > x[:, 2]).long())}
    >>> model = torch.nn.ModuleDict({task: torch.nn.Linear(3, 2) for task in data})
    >>> options = {"forward": lambda model, task, inputs: model[task](inputs["x"]), "progress": False}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = fit(model, data, uniform(list(data)), f"{folder}/run", Settings(steps=20), **options)
    ...     run.finished, len(run.lines("step"))
    (True, 20)
    """
    tasks = tasks_from(tasks) if isinstance(tasks, Mapping) else tasks
    check_tasks(tasks)
    settings, own = settings or Settings(), trainer or Trainer()
    refuse_ignored(settings, own)
    if elastic and not resume:
        raise RotaError("fit(elastic=True) expects resume=True beside it. Found a new run. Leave it out.")
    if takes_over is not None and not resume:
        raise RotaError("fit(takes_over=…) expects resume=True beside it. Found a new run. Leave it out.")
    if takes_over is not None and elastic:
        raise RotaError(
            "fit(takes_over=…) expects the hardware that the run had. Found elastic=True. Do one at a time."
        )
    settings = as_begun(settings, Path(folder)) if elastic else settings
    settings = resolve_sharding(resolve_precision(settings, own), own)
    if takes_over is not None and settings.shard:
        raise RotaError(
            "Tasks come and go in a model that each process has. Found one sharded by Settings(shard=True)."
        )
    model = model if forward is None else CalledModel(model, forward)
    context = DistributedContext(settings, own.accelerator)
    with context, surroundings(threads_for(model, settings), gpu=context.accelerator.device.type == "cuda"):
        context.seed(settings.seed)
        bar = [ProgressBar()] if progress and context.writes else []
        began_in = Run(folder).info.get("processes", 1) if resume else context.shard.world
        settings = with_expected_steps(settings, [task for task in tasks if task.trained], began_in, stream)
        sources = sources_for(policy, listen, settings)
        training = TrainingLoop(model, tasks, policy, Path(folder), settings, stream, sources, context, own, began_in)
        training.before, training.asked = before, bool(callbacks)
        training.callbacks = Callbacks([*bar, *callbacks] if context.writes else [])
        with only_writer(Path(folder)) if training.writes(resume) else contextlib.nullcontext():
            start = training.open(resume, elastic, takes_over)
            if start is None:
                return Run(folder)
            try:
                with bar[0] if bar else contextlib.nullcontext():
                    training.run(start)
            finally:
                training.close()
    training.callbacks.on_end(Run(folder))
    return Run(folder)
