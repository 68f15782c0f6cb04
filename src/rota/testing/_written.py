"""A run folder in a moment: for tests and examples of what reads run folders."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rota.budgets import UPDATES
from rota.feedback import Choice
from rota.runlog import LOG, RUN, SCHEMA, SUMMARY, Ledger, LogWriter, Run, step_line, write_json

ROWS, TRAINING_ROWS = 2, 100  # in an update, and of a task


def written_run(
    scores: Mapping[str, Sequence[float]],
    method: str = "uniform",
    seed: int = 0,
    *,
    every: int = 2,
    lines: Iterable[Mapping[str, Any]] = (),
    folder: Path | None = None,
    auxiliary: Sequence[str] = (),
    finished: bool = True,
    plan: Mapping[str, Any] | None = None,
    **info: Any,
) -> Run:
    """A run that was never trained: its tasks take turns in the updates, and have these scores.

    The loss of a task is 1 − its next score, and the checkpoint is the one with the highest average. Each task has 100
    training rows, and two rows are in each update.

    Args:
        scores: By task, its dev scores at the evaluations.
        method: Its method.
        seed: Its seed.
        every: Updates before each evaluation.
        lines: Further lines at the end of the log, see `rota.runlog`.
        folder: A new folder for it; by default a temporary one, which is removed together with the run.
        auxiliary: The tasks that do not count in the average.
        finished: Whether it has a summary.
        plan: Further fields of its plan.
        info: Further fields of `run.json`.

    >>> run = written_run({"rte": [0.5, 0.6], "mrpc": [0.7, 0.9]}, method="exp3s")
    >>> run.summary["best"]["step"], run.summary["best"]["dev"]["average"]
    (4, 0.75)
    >>> [line["task"] for line in run.lines("step")]
    ['rte', 'mrpc', 'rte', 'mrpc']
    """
    temporary = None if folder else Path(tempfile.mkdtemp())
    folder = folder or Path(temporary or "", f"{method}-{seed}")
    folder.mkdir(parents=True)
    tasks, number = list(scores), len(next(iter(scores.values())))
    kind = {"kind": "classification", "unit": 1.0, "rows": {"train": TRAINING_ROWS}}
    about = {task: {**kind, "auxiliary": task in auxiliary} for task in tasks}
    asked = {"method": method, "seed": seed, "steps": every * number, "batch_size": ROWS, "tasks": tasks, "options": {}}
    asked |= plan or {}
    write_json(folder / RUN, {"schema": SCHEMA, "id": f"{method}-{seed}", "plan": asked, "tasks": about, **info})
    evaluations = [_evaluation({task: scores[task][k] for task in tasks}, auxiliary) for k in range(number)]
    log = LogWriter(folder / LOG)
    for step in range(every * number):
        log.write(_step(step, tasks, evaluations[step // every]))
        if (step + 1) % every == 0:
            log.write({"kind": "eval", "step": step + 1, **evaluations[step // every]})
    for line in lines:
        log.write(line)
    log.close()
    if finished:
        write_json(folder / SUMMARY, _summary(tasks, evaluations, every))
    run = Run(folder)
    if temporary is not None:
        weakref.finalize(run, shutil.rmtree, temporary, ignore_errors=True)
    return run


def _evaluation(scores: Mapping[str, float], auxiliary: Sequence[str]) -> dict[str, Any]:
    counted = [score for task, score in scores.items() if task not in auxiliary]
    tasks = {task: {"loss": 1 - score, "score": score, "metrics": {}, "n": 100} for task, score in scores.items()}
    return {"split": "dev", "average": float(np.mean(counted)), "loss": None, "tasks": tasks}


def _step(step: int, tasks: Sequence[str], coming: Mapping[str, Any]) -> dict[str, Any]:
    """An update before this evaluation."""
    task = tasks[step % len(tasks)]
    ids = [(ROWS * step + k) % TRAINING_ROWS for k in range(ROWS)]
    part = {"task": task, "weight": 1.0, "n": ROWS, "ids": ids}
    return step_line(step, Choice(task, 1 / len(tasks), step), [part], [coming["tasks"][task]["loss"]], [])


def _summary(tasks: Sequence[str], evaluations: Sequence[Mapping[str, Any]], every: int) -> dict[str, Any]:
    steps, best = every * len(evaluations), int(np.argmax([found["average"] for found in evaluations]))
    return {
        "steps": steps,
        "best": {"step": every * (best + 1), "rule": "score", "dev": evaluations[best]},
        "updates": {task: len(range(k, steps, len(tasks))) for k, task in enumerate(tasks)},
        "exposure": {
            "budget": UPDATES,
            "rows": {task: ROWS * len(range(k, steps, len(tasks))) for k, task in enumerate(tasks)},
            "rounds": ROWS * steps / (TRAINING_ROWS * len(tasks)),
        },
        "cost": Ledger(updates=steps, train=ROWS * steps).as_dict(),
        "seconds": 1.0,
        "stopped": "budget",
    }
