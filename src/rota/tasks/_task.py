"""A task: its name, its kind, its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from rota.errors import RotaError, unknown_name
from rota.tasks._inputs import Inputs
from rota.tasks._kinds import Kind
from rota.tasks._rows import Rows


@dataclass(frozen=True)
class Task:
    """Something to learn.

    Args:
        name: How policies, logs and the command line call it.
        kind: What sort of answer it wants.
        splits: Rows by split: "train", "dev" and, if there is one, "test".
        inputs: What its rows look like to an encoder; tasks of one model share it. None: the model knows.
        auxiliary: Trained, but counted neither in the average nor for the best checkpoint nor for early
            stopping.
    """

    name: str
    kind: Kind
    splits: Mapping[str, Rows]
    inputs: Inputs | None = None
    auxiliary: bool = False

    def size(self, split: str = "train") -> int:
        return len(self.splits[split]) if split in self.splits else 0

    def check(self) -> None:
        """Refuse a task that cannot be trained or evaluated, with a sentence."""
        for split in ("train", "dev"):
            if not self.size(split):
                raise RotaError(
                    f"Task '{self.name}' expects at least one {split} row. Found none. "
                    f"Give it rows or leave it out of --tasks."
                )
        self.kind.check(self.name, self.splits["train"].labels())


def check_tasks(tasks: Iterable[Task]) -> None:
    """Refuse a set of tasks that cannot be trained together."""
    names = [task.name for task in tasks]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RotaError(f"Expected each task once. Found twice: {', '.join(twice)}.")
    for task in tasks:
        task.check()
    if all(task.auxiliary for task in tasks):
        raise RotaError(
            f"Expected at least one task that counts in the average. Found only auxiliary ones: {', '.join(names)}. "
            f"Add a task that is not auxiliary."
        )


def limit_rows(tasks: Iterable[Task], rows: Mapping[str, int]) -> list[Task]:
    """The same tasks with at most so many training rows each."""
    tasks = list(tasks)
    known = [task.name for task in tasks]
    for name, count in rows.items():
        if name not in known:
            raise unknown_name("task", name, known)
        if count < 0:
            raise RotaError(f"Expected zero or more rows for task '{name}'. Found {count}.")
    return [
        replace(task, splits={**task.splits, "train": task.splits["train"].first(rows[task.name])})
        if task.name in rows
        else task
        for task in tasks
    ]
