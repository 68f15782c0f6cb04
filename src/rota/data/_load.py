"""Tasks by name."""

from __future__ import annotations

from collections.abc import Sequence

from rota.data._digits import DIGITS
from rota.data._suite import Suite
from rota.data._toytext import TOYTEXT
from rota.errors import unknown_name
from rota.tasks import Task

SUITES: dict[str, Suite] = {suite.name: suite for suite in (DIGITS, TOYTEXT)}


def load_tasks(names: Sequence[str]) -> list[Task]:
    """The tasks of these names; the name of a suite stands for all of its tasks."""
    homes = {task: suite for suite in SUITES.values() for task in suite.tasks}
    wanted: list[str] = []
    for name in names:
        if name not in SUITES and name not in homes:
            raise unknown_name("task", name, [*SUITES, *homes])
        wanted += SUITES[name].tasks if name in SUITES else [name]
    wanted = list(dict.fromkeys(wanted))
    suites = dict.fromkeys(homes[name].name for name in wanted)
    loaded = {task.name: task for suite in suites for task in SUITES[suite].load()}
    return [loaded[name] for name in wanted]
