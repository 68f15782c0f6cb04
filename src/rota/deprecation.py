"""Old names, for one version: they work, and say what they are called now."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")
Translation = str | Callable[[Any], Mapping[str, Any]]
"""What an argument is called now; or a function that turns its value into what stands for it now."""


class RenamedWarning(DeprecationWarning):
    """Something was called by its old name."""


def renamed_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose names have moved or are called otherwise.

    Args:
        module: Its `__name__`.
        names: By old name where the thing is now, such as `"rota.sources.Survey"`.
    """

    def attribute(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        home, _, now = names[name].rpartition(".")
        warn(f"{module}.{name}", names[name])
        return getattr(import_module(home), now)

    return attribute


def renamed_arguments(**names: Translation) -> Callable[[Callable[Arguments, Returned]], Callable[Arguments, Returned]]:
    """A function that also takes arguments by their old names.

    Args:
        names: By old name what stands for it now. Where several stand for one, it becomes a list of them.
    """

    def decorate(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
        @functools.wraps(function)
        def translated(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
            old = [name for name in names if name in kwargs]
            if not old:
                return function(*args, **kwargs)
            found: dict[str, list[Any]] = {}
            for name in old:
                meant, value = names[name], kwargs.pop(name)
                stands = {meant: value} if isinstance(meant, str) else dict(meant(value))
                warn(f"{name}=", " and ".join(f"{now}=" for now in stands) or "nothing", of=function.__qualname__)
                for now, own in stands.items():
                    found.setdefault(now, []).append(own)
            kwargs.update({now: own[0] if len(own) == 1 else own for now, own in found.items()})
            return function(*args, **kwargs)

        translated.renamed_arguments = names  # type: ignore[attr-defined]
        return translated

    return decorate


def old_method(old: str, new: str) -> Callable[..., Any]:
    """A method that does what another one does, and says so."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        warn(old, new, of=type(self).__qualname__)
        return getattr(self, new)(*args, **kwargs)

    return method


def adopt_old_methods(cls: type, names: Mapping[str, str]) -> None:
    """Let a subclass that overrides methods by their old names override the ones that they are called now.

    Args:
        cls: The subclass.
        names: By old name the new one.
    """
    for old, new in names.items():
        if old in cls.__dict__ and new not in cls.__dict__:
            warn(old, new, of=cls.__qualname__)
            setattr(cls, new, cls.__dict__[old])


def warn(old: str, new: str, of: str = "") -> None:
    """Say that something has another name now, at the line that uses the old one."""
    where = f" of {of}" if of else ""
    warnings.warn(f"`{old}`{where} is called `{new}` now.", RenamedWarning, stacklevel=3)
