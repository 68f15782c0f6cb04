"""What the log of one run says about its course."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rota.analysis._groups import counted_tasks
from rota.runlog import LOG, Run, read_turns

AVERAGE = None
"""Stands where a task's name stands, for the average over the tasks that count."""

EVENTS = ("tasks", "parked", "unparked")
"""Kinds of lines about which tasks can be drawn."""

Key = str | None
"""The name of a task; None (`AVERAGE`) for the average over tasks."""


@dataclass(frozen=True)
class RunHistory:
    """Evaluations on dev by step, and who was trained when. A number that is none is absent.

    Args:
        tasks: What the run learns.
        loss, score: By task (or `AVERAGE`), then by step.
        pooled_loss: By step, the mean over all dev rows of the tasks that count, so that large tasks count more.
        mixture: By task, then by step.
        uncertainty: By task, then by step of the survey.
        evaluations: Their steps.
        events: Lines of the log about tasks that came, left, were parked or drawn again.
        turns: For each update its number and the tasks in it; several in a joint step.

    >>> history = RunHistory(("rte", "mnli"), turns=[(0, ("rte",)), (1, ("mnli",)), (2, ("rte", "mnli"))])
    >>> sum("rte" in tasks for _, tasks in history.turns)  # updates that it was in
    2
    """

    tasks: tuple[str, ...]
    loss: dict[Key, dict[int, float]] = field(default_factory=dict)
    score: dict[Key, dict[int, float]] = field(default_factory=dict)
    pooled_loss: dict[int, float] = field(default_factory=dict)
    mixture: dict[str, dict[int, float]] = field(default_factory=dict)
    uncertainty: dict[str, dict[int, float]] = field(default_factory=dict)
    evaluations: list[int] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    turns: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)


def read_history(run: Run) -> RunHistory:
    """Read the log once, line by line: it may be long, and most of it (row numbers) is not needed.

    >>> from rota.testing import written_run
    >>> history = read_history(written_run({"rte": [0.5, 0.6], "mnli": [0.7, 0.9]}, every=10))
    >>> history.score["rte"], history.score[AVERAGE]
    ({10: 0.5, 20: 0.6}, {10: 0.6, 20: 0.75})
    """
    history, counted = RunHistory(tuple(run.info["tasks"])), counted_tasks(run)
    path = run.folder / LOG
    alone = {task: (task,) for task in history.tasks}
    for line in read_turns(path) if path.is_file() else ():
        if isinstance(line, tuple):
            history.turns.append((line[0], alone.get(line[1]) or (line[1],)))
        elif line["kind"] == "step":
            tasks = (line["task"],) if line.get("task") is not None else tuple(line.get("tasks") or ())
            history.turns.append((line["step"], tasks))
        elif line["kind"] == "survey":
            for task, found in line["tasks"].items():
                if found["uncertainty"] is not None:
                    history.uncertainty.setdefault(task, {})[line["step"]] = found["uncertainty"]
        elif line["kind"] in EVENTS:
            history.events.append(line)
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
    known = [results[task] for task in counted if task in results]
    amounts = [own.get("tokens", own.get("n")) or 0 for own in known]  # over which the losses are means
    if sum(amounts) and all(own.get("loss") is not None for own in known):
        pairs = zip(known, amounts, strict=True)
        history.pooled_loss[step] = sum(own["loss"] * amount for own, amount in pairs) / sum(amounts)
    for task, probability in (line.get("mixture") or {}).items():
        if probability is not None:
            history.mixture.setdefault(task, {})[step] = probability
