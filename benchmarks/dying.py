"""Die at a call that changes a folder: in the process that is to die, these calls are counted."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

CHANGING = ("open", "write", "pwrite", "fsync", "ftruncate", "replace", "rename", "mkdir", "unlink", "rmdir")


class Calls:
    """Counts the calls of `os` that change files below a folder.

    Args:
        fatal: The number of the one at which the process kills itself; 0 for none.
        halfway: Whether that one is made before, a writing one with half of its bytes.
    """

    def __init__(self, fatal: int = 0, halfway: bool = False) -> None:
        self._fatal, self._halfway = fatal, halfway
        self._count = 0

    def listen(self, folder: Path) -> None:
        """From now on, in this process and not in those that it forks."""
        self._folder, self._owner = str(folder), os.getpid()
        for name in CHANGING:
            setattr(os, name, self._counting(name, getattr(os, name)))
        opening = io.open  # what `Path.open` calls

        def opened(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
            if "r" not in mode and self._concerns(file, None):
                self._next(lambda: opening(file, mode, *args, **options))
            return opening(file, mode, *args, **options)

        io.open = opened  # type: ignore[assignment]
        if not self._fatal:
            self._write()

    def counted(self, folder: Path) -> int:
        """How many there were, in the process that listened."""
        return int(Path(f"{folder}.calls").read_text())

    def _counting(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(first: Any, *args: Any, **options: Any) -> Any:
            if self._concerns(first, options.get("dir_fd")) and not (name == "open" and _reads(args)):
                shortened = (args[0][: len(args[0]) // 2], *args[1:]) if name in ("write", "pwrite") else args
                self._next(lambda: call(first, *shortened, **options))
            return call(first, *args, **options)

        return counted

    def _concerns(self, first: Any, place: int | None) -> bool:
        """Whether a path or an open file is below the folder."""
        if os.getpid() != self._owner:
            return False
        if place is not None:
            first = place
        try:
            path = os.readlink(f"/proc/self/fd/{first}") if isinstance(first, int) else os.fspath(first)
        except (OSError, TypeError):
            return False
        return f"{path}/".startswith(f"{self._folder}/")

    def _next(self, call: Callable[[], Any]) -> None:
        self._count += 1
        if self._count == self._fatal:
            if self._halfway:
                call()
            _die()
        if not self._fatal:
            self._write()

    def _write(self) -> None:
        with open(f"{self._folder}.calls", "w") as file:  # not `io.open`, which counts
            file.write(str(self._count))


def _reads(args: tuple[Any, ...]) -> bool:
    return not args or not args[0] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)


def _die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("nobody survives this")
