"""Tasks that came and went in a run, as its log tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

CAME, LEFT = "came", "left"
MARK = b'{"kind":"tasks",'  # how the line of a change begins


def has_changes(log: Path) -> bool:
    """Whether tasks came or went, by a look at the bytes: most logs are long, and tell of no change.

    >>> from rota.testing import written_run
    >>> has_changes(written_run({"rte": [0.5]}).folder / "log.jsonl")
    False
    """
    if not log.is_file():
        return False
    content = log.read_bytes()
    return content.startswith(MARK) or b"\n" + MARK in content


def task_of_rows(rows: int | None) -> dict[str, Any]:
    """How `run.json` describes a task of which only its rows are known; None for a stream's.

    >>> task_of_rows(7)["rows"]
    {'train': 7}
    """
    return {"kind": "rows of a mix", "unit": 1.0, "auxiliary": False, "rows": {"train": rows}}


def with_changes(info: Mapping[str, Any], changes: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """`run.json` as it would stand there now: with all tasks that the run ever had. Those that came later say so
    (`came`), those that left do, too (`left`).

    Args:
        info: As it was written.
        changes: Lines of the log, in their order.

    >>> change = {"step": 40, "added": ["c"], "dropped": ["a"], "rows": {"c": 7}, "mixture": {"b": 0.5, "c": 0.5}}
    >>> tasks = with_changes({"tasks": {"a": {}, "b": {}}}, [change])["tasks"]
    >>> tasks["a"], tasks["b"], tasks["c"]["came"], present_tasks({"tasks": tasks})
    ({'left': 40}, {}, 40, ['b', 'c'])
    """
    found = dict(info)
    for change in changes:
        since = dict(change.get("run", {}))
        came = since.pop("tasks", None) or {task: task_of_rows(rows) for task, rows in change["rows"].items()}
        tasks = dict(found["tasks"])
        tasks |= {task: {**tasks.get(task, {}), LEFT: change["step"]} for task in change["dropped"]}
        tasks |= {task: {**own, CAME: change["step"]} for task, own in came.items()}
        plan = {**found.get("plan", {}), **since.pop("plan", {})}
        found |= {"mixture": change["mixture"], **since, "tasks": tasks, "plan": plan}
    return found


def present_tasks(info: Mapping[str, Any]) -> list[str]:
    """The tasks that a run has at its end, or has now: without those that left.

    >>> present_tasks({"tasks": {"a": {"left": 40}, "b": {}}})
    ['b']
    """
    return [task for task, own in info["tasks"].items() if LEFT not in own]


def as_if_begun(info: Mapping[str, Any]) -> dict[str, Any]:
    """A description that `with_changes` made, as that of a run which began with the tasks that it has now.

    >>> as_if_begun({"tasks": {"a": {"left": 40}, "b": {}, "c": {"unit": 1.0, "came": 40}}})
    {'tasks': {'b': {}, 'c': {'unit': 1.0}}}
    """
    tasks = {task: info["tasks"][task] for task in present_tasks(info)}
    return {**info, "tasks": {task: {name: own[name] for name in own if name != CAME} for task, own in tasks.items()}}
