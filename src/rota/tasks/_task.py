"""A task: its name, its kind, its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rota.arrays import Ids
from rota.errors import RotaError, unknown_name
from rota.names import folder_name
from rota.tasks._from_dataset import Collate, as_rows, class_numbers, held_out, inferred_kind
from rota.tasks._inputs import Inputs
from rota.tasks._kind import Kind
from rota.tasks._rows import Rows, cut_rows, halve_rows, sample_rows
from rota.tasks._trouble import TROUBLES, Trouble, with_trouble


@dataclass(frozen=True)
class Task:
    """Something to learn.

    Args:
        name: How policies, logs and the command line call it.
        kind: What sort of answer it wants.
        splits: Rows by split: "train", "dev" and, if there is one, "test". A task without "train" is only
            evaluated.
        inputs: What its rows look like to an encoder; tasks of one model share it. None: the model knows.
        auxiliary: Trained, but counted neither in the average nor for the best checkpoint nor for early
            stopping.
        batch_size: Rows per forward pass and process, where this task wants another number than the run.
        loss_weight: Factor of its loss, whatever its share of the turns.
        stop_after: Number of updates after which the task is not drawn again; None: no limit.
        notes: What its reader wants remembered with a run, as plain JSON: content of the files, rows that were cut.
    """

    name: str
    kind: Kind
    splits: Mapping[str, Rows]
    inputs: Inputs | None = None
    auxiliary: bool = False
    batch_size: int | None = None
    loss_weight: float = 1.0
    stop_after: int | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dataset(
        cls,
        name: str,
        dataset: Any,
        kind: Kind | None = None,
        *,
        dev: Any = None,
        test: Any = None,
        label: str = "label",
        collate: Collate | None = None,
    ) -> Task:
        """A task from a data set that you have: a torch Dataset, one of `datasets`, a list of rows, or a pair of arrays
        or tensors (inputs, labels).

        Args:
            name: Of the task.
            dataset: Training rows: mappings, or pairs of input and label.
            kind: What sort of answer it wants; by default what the labels look like.
            dev: Rows for evaluations; by default a tenth of the training rows is held out.
            test: Rows for the test, if there are any.
            label: The name of the label in rows that are mappings.
            collate: Makes a batch of rows, as a DataLoader's `collate_fn` does.

        >>> import torch
        >>> task = Task.from_dataset("signs", (torch.randn(100, 3), torch.arange(100) % 2))
        >>> task.kind.classes, task.size("train"), task.size("dev")
        (2, 90, 10)
        """
        classes = class_numbers(dataset, label)
        splits = {"train": as_rows(dataset, label, collate, classes)}
        wanted = kind or inferred_kind(splits["train"], classes)
        told = [f"{wanted!r}" if kind else f"{wanted!r}, as its labels look"]
        if dev is None:
            splits["train"], splits["dev"] = held_out(splits["train"])
            told.append(f"{len(splits['dev'])} of {len(splits['train']) + len(splits['dev'])} rows held out for dev")
        else:
            splits["dev"] = as_rows(dev, label, collate, classes)
        if test is not None:
            splits["test"] = as_rows(test, label, collate, classes)
        return cls(name, wanted, splits, notes={"made": "; ".join(told)})

    def size(self, split: str = "train") -> int:
        return len(self.splits[split]) if split in self.splits else 0

    @property
    def trained(self) -> bool:
        """Whether there is anything to train on; otherwise it is only evaluated."""
        return "train" in self.splits

    @property
    def counted(self) -> bool:
        """Whether it counts in the average."""
        return self.trained and not self.auxiliary

    def tokens(self, split: str = "train") -> Ids | None:
        """How many tokens of each row have a loss, where its rows say so (`side["tokens"]`)."""
        found: Ids | None = self.splits[split].side.get("tokens") if split in self.splits else None
        return found

    def check(self) -> None:
        """Refuse a task that cannot be trained or evaluated, with a sentence."""
        folder_name(self.name, "task")
        for split in ("train", "dev") if self.trained else ():
            if not self.size(split):
                share = " (dev: 0.1 in its YAML file holds out a tenth)" if split == "dev" else ""
                raise RotaError(
                    f"Task '{self.name}' expects at least one {split} row. Found none. "
                    f"Give it rows{share}, or leave it out of the tasks."
                )
        if self.trained:
            self.kind.check(self.name, self.splits["train"].labels())


def check_tasks(tasks: Iterable[Task]) -> None:
    """Refuse a set of tasks that cannot be trained together.

    >>> import torch
    >>> from rota.tasks import Classification, TensorRows
    >>> rows = TensorRows({"x": torch.zeros(4, 2)}, torch.tensor([0, 1, 0, 1]))
    >>> check_tasks([Task("rte", Classification(2), {"train": rows, "dev": rows})] * 2)
    Traceback (most recent call last):
    ...
    rota.errors.RotaError: Expected each task once. Found twice: rte.
    """
    tasks = list(tasks)
    names = [task.name for task in tasks]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RotaError(f"Expected each task once. Found twice: {', '.join(twice)}.")
    for task in tasks:
        task.check()
    if not any(task.trained for task in tasks):
        raise RotaError(f"Expected at least one task with training rows. Found none in {', '.join(names)}.")
    if not any(task.counted for task in tasks):
        raise RotaError(
            f"Expected at least one task that counts in the average. Found only auxiliary ones: {', '.join(names)}. "
            f"Add a task that is not auxiliary."
        )


def limit_rows(tasks: Iterable[Task], rows: Mapping[str, int]) -> list[Task]:
    """The same tasks with at most so many training rows each, always the same ones.

    >>> import torch
    >>> task = Task.from_dataset("signs", (torch.randn(100, 3), torch.arange(100) % 2))
    >>> [few.size("train") for few in limit_rows([task], {"signs": 20})]
    [20]
    """
    tasks = list(tasks)
    known = [task.name for task in tasks]
    for name, count in rows.items():
        if name not in known:
            raise unknown_name("task", name, known)
        if count < 0:
            raise RotaError(f"Expected zero or more rows for task '{name}'. Found {count}.")
    return [
        replace(task, splits={**task.splits, "train": sample_rows(task.splits["train"], rows[task.name])})
        if task.name in rows and task.trained
        else task
        for task in tasks
    ]


def halve_dev(tasks: Iterable[Task]) -> list[Task]:
    """The same tasks, those without test rows with half of their dev rows as such, always the same ones.

    >>> import torch
    >>> (task,) = halve_dev([Task.from_dataset("signs", (torch.randn(100, 3), torch.arange(100) % 2))])
    >>> task.size("train"), task.size("dev"), task.size("test")
    (90, 5, 5)
    """
    return [_with_own_test(task) if task.size("dev") > 1 and not task.size("test") else task for task in tasks]


def cut_dev(tasks: Iterable[Task], share: float) -> list[Task]:
    """The same tasks, those without test rows with a share of their training rows as dev rows, always the same ones,
    and their dev rows as test rows: nothing is chosen by the rows that are reported.

    >>> import torch
    >>> (task,) = cut_dev([Task.from_dataset("signs", (torch.randn(100, 3), torch.arange(100) % 2))], 0.2)
    >>> task.size("train"), task.size("dev"), task.size("test")
    (72, 18, 10)
    """
    return [_with_dev_from_train(task, share) if task.trained and not task.size("test") else task for task in tasks]


def _with_dev_from_train(task: Task, share: float) -> Task:
    if not task.size("dev") or task.size() < 2:
        raise RotaError(
            f"Task '{task.name}' expects dev rows, which become its test rows, and training rows to cut others from. "
            f"Found {task.size('dev')} and {task.size()}. Leave Plan(cut_dev=…) out."
        )
    train, dev = cut_rows(task.splits["train"], share)
    return replace(task, splits={**task.splits, "train": train, "dev": dev, "test": task.splits["dev"]})


def _with_own_test(task: Task) -> Task:
    dev, test = halve_rows(task.splits["dev"])
    return replace(task, splits={**task.splits, "dev": dev, "test": test})


def adjust_tasks(tasks: Iterable[Task], changes: Mapping[str, Mapping[str, Any]]) -> list[Task]:
    """The same tasks with other batch sizes, loss weights, ends, roles, or metrics, or with trouble in their rows.

    >>> import torch
    >>> task = Task.from_dataset("signs", (torch.randn(100, 3), torch.arange(100) % 2))
    >>> [changed.batch_size for changed in adjust_tasks([task], {"signs": {"batch_size": 8}})]
    [8]
    """
    tasks = list(tasks)
    for name in changes:
        if name not in [task.name for task in tasks]:
            raise unknown_name("task", name, [task.name for task in tasks])
    return [_adjusted(task, dict(changes.get(task.name, {}))) for task in tasks]


def _adjusted(task: Task, changes: dict[str, Any]) -> Task:
    names = changes.pop("metrics", None)
    kind = task.kind if names is None else task.kind.measured_by(names, task.name)
    planted = Trouble(**{name: changes.pop(name) for name in TROUBLES if name in changes})
    splits = task.splits
    if planted.is_there:
        if not task.trained:
            raise RotaError(f"Task '{task.name}' expects training rows for trouble in them. Found none.")
        splits = {**splits, "train": with_trouble(splits["train"], planted, kind, task.name)}
    return replace(task, kind=kind, splits=splits, **changes)


def tasks_from(datasets: Mapping[str, Any]) -> list[Task]:
    """Tasks from data sets by name: each a data set, or a mapping with its splits, "train", "dev" (or "validation") and
    "test". Kinds are what the labels look like.

    >>> import torch
    >>> rows = torch.utils.data.TensorDataset(torch.randn(20, 3), torch.arange(20) % 2)
    >>> [task.name for task in tasks_from({"parity": {"train": rows, "dev": rows}})]
    ['parity']
    """
    found = []
    for name, own in datasets.items():
        splits = dict(own) if isinstance(own, Mapping) else {"train": own}
        if "train" not in splits:
            raise RotaError(f"Task '{name}' expects a data set, or splits with 'train'. Found {', '.join(splits)}.")
        dev = splits.get("dev", splits.get("validation"))
        found.append(Task.from_dataset(name, splits["train"], dev=dev, test=splits.get("test")))
    return found
