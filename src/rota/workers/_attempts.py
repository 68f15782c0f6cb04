"""Marks of each attempt at something: that it was begun, where, and how it ended. One that was lost has no end."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rota.errors import RotaError
from rota.workers._labour import Assignment, HowItEnded

FOLDER = "attempts"
MOST = 3
"""Attempts of one command, before what is lost again and again is given up."""
START, END = "start", "end"


class Attempts(NamedTuple):
    """How often something was begun, and how often it came to an end.

    >>> Attempts(starts=2, ends=1)  # begun twice, because a machine died
    Attempts(starts=2, ends=1)
    """

    starts: int
    ends: int


def attempts_at(folder: Path) -> Attempts:
    """The attempts at a run in `folder`, as the marks in `attempts/NAME.jsonl` beside it say.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as runs:
    ...     mark_start(Path(runs) / "exp3s-1", "node 1")
    ...     mark_start(Path(runs) / "exp3s-1", "node 2")
    ...     mark_end(Path(runs) / "exp3s-1", "done")
    ...     attempts_at(Path(runs) / "exp3s-1")
    Attempts(starts=2, ends=1)
    """
    try:
        lines = _file(folder).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return Attempts(0, 0)
    marks = [_mark(line) for line in lines]
    return Attempts(marks.count(START), marks.count(END))


def mark_start(folder: Path, where: str) -> None:
    """An attempt begins.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as runs:
    ...     mark_start(Path(runs) / "exp3s-1", "node 1")
    ...     attempts_at(Path(runs) / "exp3s-1")
    Attempts(starts=1, ends=0)
    """
    _append(folder, {"mark": START, "attempt": attempts_at(folder).starts + 1, "where": where})


def mark_end(folder: Path, how: str) -> None:
    """The latest attempt has come to an end.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as runs:
    ...     mark_start(Path(runs) / "exp3s-1", "node 1")
    ...     mark_end(Path(runs) / "exp3s-1", "done")
    ...     attempts_at(Path(runs) / "exp3s-1")
    Attempts(starts=1, ends=1)
    """
    _append(folder, {"mark": END, "attempt": attempts_at(folder).starts, "how": how})


def marked(work: Callable[[Assignment], HowItEnded], assignment: Assignment) -> HowItEnded:
    """Do something in this process, between marks of its start and of its end.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as runs:
    ...     ended = marked(lambda own: ("done", own.name), Assignment("exp3s-1", f"{runs}/exp3s-1", {}))
    ...     ended, attempts_at(Path(runs) / "exp3s-1")
    (('done', 'exp3s-1'), Attempts(starts=1, ends=1))
    """
    folder = Path(assignment.folder)
    mark_start(folder, f"process {os.getpid()} on {platform.node()}")
    ended = work(assignment)
    mark_end(folder, ended[0])
    return ended


def _file(folder: Path) -> Path:
    return folder.parent / FOLDER / f"{folder.name}.jsonl"


def _append(folder: Path, mark: dict[str, object]) -> None:
    file = _file(folder)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps({**mark, "at": time.strftime("%Y-%m-%dT%H:%M:%S%z")}) + "\n")
    except OSError as error:
        raise RotaError(f"Expected a file that can be written at {file}. Found: {error.strerror}.") from error


def _mark(line: str) -> str:
    try:
        return str(json.loads(line)["mark"])
    except (ValueError, KeyError, TypeError):
        return ""  # its writer died in the middle of it
