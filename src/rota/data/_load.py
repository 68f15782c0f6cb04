"""Tasks by name."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rota.data._digits import DIGITS
from rota.data._files import FORMATS
from rota.data._glue import GLUE
from rota.data._multimnist import TASKS as MULTIMNIST
from rota.data._multimnist import load_multimnist
from rota.data._named import NamedTask, RawTask, Reading
from rota.data._own import AnyOwn, load_own, own_tasks, raw_own
from rota.data._reading_sets import MRQA, SCITAIL, SNLI, WNUT
from rota.data._suite import Suite, published
from rota.data._superglue import SUPERGLUE
from rota.data._toytext import TOYTEXT
from rota.errors import RotaError, unknown_name
from rota.plugins import PluginTable
from rota.tasks import Kind, Task


def _multimnist(names: Sequence[str], reading: Reading) -> list[Task]:
    if reading.folder is None:
        raise RotaError("MultiMNIST expects the four files of MNIST in a folder. Found none: say Plan(data=…).")
    return [task for task in load_multimnist(reading.folder) if task.name in names]


CAMTL = [*GLUE, *(task for task in SUPERGLUE if task.same_as is None), *MRQA, WNUT]
OWN = (
    DIGITS,
    TOYTEXT,
    published("glue", "single sentences and pairs, nine tasks", GLUE),
    published("superglue", "harder questions of many kinds, eight tasks", SUPERGLUE),
    published("mrqa", "answers in passages, six sets", MRQA),
    published("wnut", "rare and emerging named entities", [WNUT]),
    published("nli", "inference: sentences that follow, contradict or neither", [SNLI, SCITAIL]),
    published("camtl", "the tasks of CA-MTL: GLUE, SuperGLUE, MRQA and WNUT 2017", CAMTL),
    Suite("multimnist", "two overlaid digits of MNIST: top left, bottom right", MULTIMNIST, _multimnist),
)


def _suite(name: str, found: Any) -> Suite | None:
    if isinstance(found, Suite):
        return replace(found, name=name)
    if isinstance(found, type) and issubclass(found, Kind):
        return None
    raise RotaError(f"expected a rota.data.Suite or a subclass of rota.tasks.Kind, found {found!r}")


SUITES: PluginTable[Suite] = PluginTable({suite.name: suite for suite in OWN}, {"rota.tasks": _suite})
"""Suites by name: those of the house, and those of plug-ins."""


def load_tasks(names: Sequence[str], reading: Reading | None = None) -> list[Task]:
    """The tasks of these names, in their order.

    Args:
        names: Tasks; suites, which stand for all of their tasks; or YAML files that describe tasks of one's own.
        reading: Where texts are found and how they are cut.

    >>> [task.name for task in load_tasks(["digits"])]
    ['left', 'right', 'larger', 'parity', 'noise']
    """
    reading = reading or Reading()
    wanted, own, homes = _asked(names)
    loaded = {name: load_own(own[name], reading) for name in wanted if name in own}
    for suite in dict.fromkeys(homes[name].name for name in wanted if name not in own):
        members = [name for name in wanted if name not in own and homes[name].name == suite]
        loaded |= {task.name: task for task in SUITES[suite].load(members, reading)}
    return [loaded[name] for name in wanted]


def raw_tasks(names: Sequence[str], reading: Reading | None = None) -> list[RawTask]:
    """The text tasks of these names before their texts are cut into tokens.

    Args:
        names: As for `load_tasks`.
        reading: Where texts are found.

    >>> raw_tasks(["digits"])
    Traceback (most recent call last):
    ...
    rota.errors.RotaError: Expected tasks that are texts in files or on the hub. Found 'left' of the suite 'digits'.
    """
    reading = reading or Reading()
    wanted, own, homes = _asked(names)
    return [
        raw_own(own[name], reading) if name in own else _published(name, homes[name]).raw(reading) for name in wanted
    ]


def _published(name: str, suite: Suite) -> NamedTask:
    task = named_task(name)
    if task is None:
        raise RotaError(
            f"Expected tasks that are texts in files or on the hub. Found '{name}' of the suite '{suite.name}'."
        )
    return task


def _asked(names: Sequence[str]) -> tuple[list[str], dict[str, AnyOwn], dict[str, Suite]]:
    """The names of all tasks that are asked for, those that files describe, and the suites of the others."""
    homes = _homes(names)
    own: dict[str, AnyOwn] = {}
    wanted: list[str] = []
    for name in dict.fromkeys(names):
        if is_file(name):
            for task in own_tasks(Path(name)):
                if task.name in own:
                    raise RotaError(f"Expected each task once. Found '{task.name}' twice, again in {name}.")
                own[task.name] = task
                wanted.append(task.name)
        elif name in SUITES or name in homes:
            wanted += SUITES[name].tasks if name in SUITES else [name]
        elif Path(name).suffix in FORMATS:
            raise RotaError(
                f"Expected tasks by name, or a YAML file that describes them. Found a table, {name}. Describe it in a "
                f"file such as mine.yaml: {{name: mine, kind: classification, train: {Path(name).name}, dev: 0.1, "
                f"text: text, label: label}}."
            )
        else:
            raise unknown_name("task", name, [*SUITES, *homes])
    _refuse_twins(wanted, own)
    return list(dict.fromkeys(wanted)), own, homes


def task_names(names: Sequence[str]) -> list[str]:
    """The tasks of these names, where suites stand for all of theirs and files for those that they describe.

    >>> task_names(["wnut", "rte"])
    ['wnut2017', 'rte']
    """
    homes, found = _homes(names), list[str]()
    for name in names:
        if is_file(name):
            found += [task.name for task in own_tasks(Path(name))]
        elif name in SUITES or name in homes:
            found += SUITES[name].tasks if name in SUITES else [name]
        else:
            raise unknown_name("task", name, [*SUITES, *homes])
    return list(dict.fromkeys(found))


def tasks_elsewhere(names: Sequence[str], reading: Reading) -> dict[str, str]:
    """Those of the tasks whose rows are neither in the data folder nor were fetched from the hub before, with the place
    that has them. Nothing is fetched.

    Args:
        names: As for `load_tasks`.
        reading: Where texts are found.

    >>> tasks_elsewhere(["digits"], Reading())
    {}
    """
    homes, found = _homes(names), {}
    for name in task_names([name for name in names if not is_file(name)]):
        known = named_task(name)
        if known is not None:
            if not {"train", "dev"} <= known.local(reading.folder).keys() and not known.hub.fetched:
                found[name] = f"{known.hub.path} on the hub"
            continue
        try:
            homes[name].load([name], reading)
        except RotaError:  # of pictures that are in no folder
            found[name] = "a folder with its files"
    return found


def _homes(names: Sequence[str]) -> dict[str, Suite]:
    """The suite of each task. Plug-ins are imported only where a name is not known without them."""
    suites: Mapping[str, Suite] = SUITES.loaded
    known = {name for suite in suites.values() for name in suite.tasks}
    if any(name not in known and name not in SUITES and not is_file(name) for name in names):
        suites = SUITES
    asked = [*suites.values(), *(SUITES[name] for name in names if name in SUITES and name not in suites)]
    return {task: suite for suite in reversed(asked) for task in suite.tasks}


def is_file(name: str) -> bool:
    """Whether a name stands for a YAML file with tasks of one's own."""
    return name.endswith((".yaml", ".yml"))


def named_task(name: str) -> NamedTask | None:
    """What is known of a published text task.

    >>> named_task("rte").same_as, named_task("no such task")
    (None, None)
    """
    return next((task for suite in SUITES.loaded.values() for task in suite.named if task.name == name), None)


def _refuse_twins(names: Sequence[str], own: Container[str]) -> None:
    for name in names:
        if name in own and names.count(name) > 1:
            raise RotaError(f"Expected each task once. Found '{name}' in a file and among the published ones.")
        task = named_task(name)
        if task is not None and name not in own and task.same_as in names:
            raise RotaError(
                f"Expected each data set once. Found '{name}' beside '{task.same_as}', which has the same rows. "
                f"Leave one of them out."
            )
