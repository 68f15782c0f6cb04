"""What other packages add: found under their entry points, imported on first use.

    rota.policies           a policy: `rota train --method NAME` uses it, its arguments are options
    rota.methods            a `rota.methods.Method`
    rota.tasks              a suite of tasks (`rota.data.Suite`), or a kind of tasks (a subclass of `rota.tasks.Kind`)
    rota.report_sections    a `rota.report.Section`

A package names them in its pyproject.toml:

    [project.entry-points."rota.policies"]
    loss-chaser = "my_package:LossChaser"
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from rota.errors import RotaError

__all__ = ["PluginTable", "PluginWarning"]

Thing = TypeVar("Thing")
Reader = Callable[[str, Any], Thing | None]
"""Turns what an entry point leads to into what a table holds, from its name and itself; refuses what cannot be meant.
None: it is meant for another table."""


class PluginWarning(UserWarning):
    """A plug-in that is left out, and why.

    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", PluginWarning)  # where a plug-in that is left out should stop the program
    ...     left_out(EntryPoint("mine", "mine:Mine", "rota.policies"), "it cannot choose")
    Traceback (most recent call last):
        ...
    rota.plugins.PluginWarning: The plug-in 'mine' of an unknown package (rota.policies) is left out: it cannot choose.
    """


class PluginTable(MutableMapping[str, Thing], Generic[Thing]):
    """Things by name: those of the house, and those of plug-ins. A plug-in that is broken, or whose name is taken, is
    named in one sentence and left out.

    Args:
        own: Of the house.
        readers: By group of entry points, what makes a thing of what they lead to.

    >>> table = PluginTable({"uniform": 1}, readers={})
    >>> table["uniform"], list(table.loaded)
    (1, ['uniform'])
    """

    def __init__(self, own: Mapping[str, Thing], readers: Mapping[str, Reader[Thing]]) -> None:
        self._own, self._readers = dict(own), dict(readers)
        self._found: dict[str, EntryPoint] | None = None

    def __getitem__(self, name: str) -> Thing:
        if name not in self._own:
            entry = self._plugins.get(name)
            if entry is None:
                raise KeyError(name)
            self._load(entry)
        return self._own[name]

    def __setitem__(self, name: str, thing: Thing) -> None:
        self._own[name] = thing

    def __delitem__(self, name: str) -> None:
        del self._own[name]

    def __iter__(self) -> Iterator[str]:
        """All names that lead to something; to know that, plug-ins are imported."""
        for entry in list(self._plugins.values()):
            if entry.name not in self._own:
                try:
                    self._load(entry)
                except KeyError:
                    continue
        return iter(dict(self._own))

    @property
    def loaded(self) -> Mapping[str, Thing]:
        """Those that are known without importing anything."""
        return self._own

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._plugins

    @property
    def _plugins(self) -> dict[str, EntryPoint]:
        """Those whose names are free; known from what is installed, without importing anything."""
        if self._found is None:
            self._found = {}
            for group in self._readers:
                for entry in sorted(entry_points(group=group), key=lambda entry: (entry.name, entry.value)):
                    if entry.name in self._own:
                        left_out(entry, f"rota itself has something called '{entry.name}'")
                    elif entry.name in self._found:
                        left_out(entry, f"{_package(self._found[entry.name])} has something called '{entry.name}', too")
                    else:
                        self._found[entry.name] = entry
        return self._found

    def _load(self, entry: EntryPoint) -> None:
        try:
            found = self._readers[entry.group](entry.name, entry.load())
        except Exception as error:  # whatever it is, others work without it
            found = None
            left_out(entry, said(error))
        if found is None:
            self._plugins.pop(entry.name)
            raise KeyError(entry.name)
        self._own[entry.name] = found


def left_out(entry: EntryPoint, reason: str) -> None:
    """Say that a plug-in is left out."""
    sentence = f"The plug-in '{entry.name}' of {_package(entry)} ({entry.group}) is left out: {reason}."
    warnings.warn(sentence, PluginWarning, stacklevel=2)


def said(error: Exception) -> str:
    """What went wrong, in one line."""
    told = " ".join(str(error).split()).rstrip(".") or "it failed"
    return told if isinstance(error, RotaError) else f"{type(error).__name__}: {told}"


def _package(entry: EntryPoint) -> str:
    return f"package {entry.dist.name}" if entry.dist is not None else "an unknown package"
