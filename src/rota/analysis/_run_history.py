"""What the log of one run says about its course."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rota.analysis._groups import counted_tasks
from rota.runlog import LOG, Run, read_lines

AVERAGE = None
"""Stands where a task's name stands, for the average over the tasks that count."""

Key = str | None


@dataclass(frozen=True)
class RunHistory:
    """Evaluations on dev by step, and who was trained when. A number that is none is absent.

    Args:
        tasks: What the run learns.
        loss, score: By task (or `AVERAGE`), then by step.
        mixture: By task, then by step.
        uncertainty: By task, then by step of the survey.
        evaluations: Their steps.
        turns: For each update its number and the tasks in it; several in a joint step.
    """

    tasks: tuple[str, ...]
    loss: dict[Key, dict[int, float]] = field(default_factory=dict)
    score: dict[Key, dict[int, float]] = field(default_factory=dict)
    mixture: dict[str, dict[int, float]] = field(default_factory=dict)
    uncertainty: dict[str, dict[int, float]] = field(default_factory=dict)
    evaluations: list[int] = field(default_factory=list)
    turns: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)


def read_history(run: Run) -> RunHistory:
    """Read the log once, line by line: it may be long, and most of it (row numbers) is not needed."""
    history, counted = RunHistory(tuple(run.info["tasks"])), counted_tasks(run)
    path = run.folder / LOG
    for line in read_lines(path) if path.is_file() else ():
        if line["kind"] == "step":
            tasks = (line["task"],) if line.get("task") is not None else tuple(line.get("tasks") or ())
            history.turns.append((line["step"], tasks))
        elif line["kind"] == "survey":
            for task, found in line["tasks"].items():
                if found["uncertainty"] is not None:
                    history.uncertainty.setdefault(task, {})[line["step"]] = found["uncertainty"]
        elif line["kind"] == "eval" and line.get("split", "dev") == "dev":
            _take_evaluation(history, line, counted)
    return history


def _take_evaluation(history: RunHistory, line: dict[str, Any], counted: list[str]) -> None:
    step, results = line["step"], line["tasks"]
    history.evaluations.append(step)
    for what, found in (("loss", history.loss), ("score", history.score)):
        values = {task: result.get(what) for task, result in results.items()}
        own = [values[task] for task in counted if task in values]
        mean = float(np.mean(own)) if own and None not in own else None
        for key, value in {**values, AVERAGE: mean}.items():
            if value is not None:
                found.setdefault(key, {})[step] = value
    for task, probability in (line.get("mixture") or {}).items():
        if probability is not None:
            history.mixture.setdefault(task, {})[step] = probability
