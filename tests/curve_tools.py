"""Histories whose scores follow curves that are known."""

from __future__ import annotations

import numpy as np

from rota.analysis import RunHistory
from rota.runlog import RUN, SCHEMA, Run, write_json
from rota.schedules import warmup_linear

STEPS, EVERY = 400, 20


def write_planned_run(folder):
    """A run of two tasks that has only just begun."""
    plan = {"method": "uniform", "steps": STEPS, "warmup": 0.1}
    write_json(folder / RUN, {"schema": SCHEMA, "id": "x", "plan": plan, "tasks": {"a": {}, "b": {}}})
    return Run(folder)


def learned(**scores):
    """Both tasks by turn; scores as functions of what a task has learned, all of it being 1."""
    rate, evaluations = warmup_linear(40, STEPS), list(range(0, STEPS + 1, EVERY))
    done = np.cumsum([0.0, *(rate(step) for step in range(STEPS))])
    found = {task: {step: float(of(done[step] / done[-1])) for step in evaluations} for task, of in scores.items()}
    turns = [(step, ("ab"[step % 2],)) for step in range(STEPS)]
    return RunHistory(("a", "b"), score=found, evaluations=evaluations, turns=turns)
