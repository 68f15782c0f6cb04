"""What is public: the names in `__all__` of every module whose path has no underscore; and which have an example."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import rota

ROOT = Path(__file__).parents[2]
FINDER = doctest.DocTestFinder(exclude_empty=True)


def public_names():
    """(room, name, what it stands for) for all of them; the command line is no room for programs."""
    rooms = [module.name for module in pkgutil.walk_packages(rota.__path__, "rota.")]
    for room in ["rota", *(room for room in rooms if "._" not in room and not room.startswith("rota.cli"))]:
        module = importlib.import_module(room)
        yield from ((room, name, getattr(module, name)) for name in getattr(module, "__all__", ()))


def has_docstring_of_its_own(value):
    return inspect.isclass(value) or inspect.isfunction(value)


def has_example(value):
    """Whether an example in its docstring, or in one of its methods', is run by `pytest --doctest-modules`."""
    return any(test.examples for test in FINDER.find(value, "it", module=False))


def pages_with_its_program(room, name, value):
    """The pages that its docstring names and whose programs use it: an example that needs a model or a data set."""
    pages = re.findall(r"docs/[\w/-]+\.md", inspect.getdoc(value) or "")
    return {page for page in pages if f"{room}.{name}" in (ROOT / page).read_text(encoding="utf-8")}
