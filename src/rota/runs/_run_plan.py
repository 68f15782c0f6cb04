"""From a plan to a finished run folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from rota.callbacks import Callback
from rota.errors import RotaError, resuming
from rota.methods import InnerRuns
from rota.plans import Plan
from rota.policies import Policy
from rota.runlog import RUN, SUMMARY, Run, only_writer
from rota.runs._named_streams import stream_from
from rota.runs._observers import observers, sources_of
from rota.runs._prepare import Prepared, method_of, policy_of, prepare
from rota.training import fit, refuse_old


def run_plan(
    plan: Plan,
    folder: Path,
    *,
    resume: bool | str = False,
    elastic: bool = False,
    takes_over: Plan | None = None,
    progress: bool = True,
    callbacks: Sequence[Callback] = (),
) -> Run:
    """Do what the plan says and keep it in `folder`.

    Args:
        plan: What to do.
        folder: A new run folder, or with `resume` an existing one.
        resume: True, or the name of the checkpoint to continue from.
        elastic: Whether it may go on in another number of processes, or on another device.
        takes_over: Where it goes on with other tasks (`with_other_tasks`): what it was asked for before.
        progress: Whether to show a progress bar.
        callbacks: Who hears of what happens, and may end the run.

    >>> import tempfile
    >>> from rota.plans import make_plan
    >>> plan = make_plan({"tasks": ["digits"], "only": ["left"], "method": "uniform", "steps": 3, "device": "cpu"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = run_plan(plan, Path(folder) / "run", progress=False)
    ...     run.finished, len(run.lines("step"))
    (True, 3)
    """
    method_of(plan)
    observers(plan.observe)
    first = int(os.environ.get("RANK", 0)) == 0  # of the processes that torchrun started
    if first and not resume:
        refuse_old(folder)  # before anybody waits for the data
    inner = InnerRuns(run_plan, plan, folder, progress)
    finished = resume and (folder / SUMMARY).is_file()
    with only_writer(folder) if first and not finished else contextlib.nullcontext():
        going_on = resume if (folder / RUN).is_file() else False  # it may have died in an inner run
        if elastic and not going_on:
            raise RotaError(
                f"Other hardware expects a run whose own training has begun. Found {folder}, which trains others "
                f"first. Continue it where it began: {resuming(folder)}."
            )
        processes = int(os.environ.get("WORLD_SIZE", 1))  # as torchrun says
        if going_on:
            processes = Run(folder).info.get("processes", processes)
        old = None if takes_over is None else policy_of(takes_over, inner, processes)
        prepared = prepare(plan, inner, processes)
        return train_prepared(prepared, folder, inner, going_on, progress, callbacks, elastic, old)


def train_prepared(
    run: Prepared,
    folder: Path,
    inner: InnerRuns,
    resume: bool | str,
    progress: bool,
    callbacks: Sequence[Callback],
    elastic: bool = False,
    takes_over: Policy | None = None,
) -> Run:
    """Train what was prepared."""
    return fit(
        run.model,
        run.tasks,
        run.recipe.policy,
        folder,
        run.plan,
        stream=stream_from(run.recipe.stream),
        listen=sources_of(run.recipe, run.plan.observe),
        callbacks=callbacks,
        before=inner.runs,
        resume=resume,
        elastic=elastic,
        takes_over=takes_over,
        progress=progress,
    )
