"""Averages over GLUE, SuperGLUE and other groups of tasks, as papers print them, over seeds."""

from __future__ import annotations

from dataclasses import dataclass

from rota.analysis._groups import Group, counted_tasks
from rota.analysis._spreads import Spread, spread
from rota.averages import glue_averages, group_averages


@dataclass(frozen=True)
class NamedAverage:
    """An average of a group of runs.

    Args:
        over: Its seeds.
        entries: Of how many entries it is the mean.
        of: How many there are where all tasks are there.

    >>> NamedAverage(spread([0.5, 0.75]), entries=9, of=9).over.mean
    0.625
    """

    over: Spread
    entries: int
    of: int


def named_averages(group: Group, split: str) -> dict[str, NamedAverage]:
    """Of the finished runs of a group, by name; tasks that are auxiliary do not count.

    `glue-001` is there where all of its tasks are; `glue-002` is GLUE, where that has all of its nine entries.

    >>> from rota.testing import written_run
    >>> found = named_averages(Group("uniform", (written_run({"cb": [0.5], "wic": [0.75], "digits": [0.1]}),)), "dev")
    >>> {name: (own.over.mean, own.entries, own.of) for name, own in found.items()}
    {'SuperGLUE': (0.625, 2, 8)}
    """
    values: dict[str, list[float]] = {}
    sizes: dict[str, tuple[int, int]] = {}
    for run in group.finished:
        tasks = (run.summary["best"].get(split) or {"tasks": {}})["tasks"]
        results = {task: tasks[task] for task in counted_tasks(run) if task in tasks}
        for name, found in group_averages(results).items():
            label = "glue-002" if name == "GLUE" and found.whole else name
            values.setdefault(label, []).append(found.mean)
            sizes[label] = found.entries, found.of
        if "glue-001" in (whole := glue_averages(results)):
            values.setdefault("glue-001", []).append(whole["glue-001"])
            sizes["glue-001"] = 8, 8
    return {name: NamedAverage(spread(own), *sizes[name]) for name, own in values.items()}
