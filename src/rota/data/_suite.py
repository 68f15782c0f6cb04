"""A suite: tasks that belong together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rota.data._named import NamedTask, Reading
from rota.tasks import Task


@dataclass(frozen=True)
class Suite:
    """Tasks that come from one source or are trained together.

    Args:
        name: How the command line calls it.
        summary: One line for `rota tasks`.
        tasks: Their names.
        load: Makes those of the given names; always the same ones.
        named: Where the tasks are published texts: what is known of them before they are loaded.

    >>> from rota.data import SUITES
    >>> SUITES["digits"].tasks
    ('left', 'right', 'larger', 'parity', 'noise')
    """

    name: str
    summary: str
    tasks: tuple[str, ...]
    load: Callable[[Sequence[str], Reading], list[Task]]
    named: tuple[NamedTask, ...] = ()


def made(name: str, summary: str, tasks: Sequence[str], load: Callable[[], Sequence[Task]]) -> Suite:
    """A suite that is generated whole, without files."""
    return Suite(name, summary, tuple(tasks), lambda names, _: [task for task in load() if task.name in names])


def published(name: str, summary: str, tasks: Sequence[NamedTask]) -> Suite:
    """A suite of published texts."""
    by_name = {task.name: task for task in tasks}
    return Suite(
        name,
        summary,
        tuple(by_name),
        lambda names, reading: [by_name[wanted].load(reading) for wanted in names],
        tuple(tasks),
    )
