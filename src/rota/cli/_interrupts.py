"""Ctrl-C and SIGTERM: an orderly end, and the command that goes on."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rota.interrupts import GRACE, StopRequest, save_on_signals
from rota.runlog import PLAN, RUN

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM
GO_ON = {"train", "compare", "adapt", "select", "search", "autosem", "demo"}
"""Verbs that keep what is finished: the same command goes on."""


@dataclass
class _Now:
    """What is going on in this process."""

    request: StopRequest = field(default_factory=lambda: StopRequest(GRACE))
    folder: Path | None = None
    flags: list[str] = field(default_factory=list)


_now = _Now()


@contextmanager
def orderly_end() -> Iterator[None]:
    """Inside, SIGTERM is an interrupt as Ctrl-C is: a training saves its step, and other processes are ended."""
    _now.request, _now.folder, _now.flags = StopRequest(GRACE), None, []
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with save_on_signals() as request:
        _now.request = request
        yield


def allow(grace: float) -> None:
    """So many seconds, from now on, are left to a training that is asked to end."""
    _now.request.grace = grace


def resumed_from(folder: Path, resumes: bool, flags: list[str]) -> None:
    """From now on a run is trained that can be resumed.

    Args:
        folder: Of the run.
        resumes: Whether it is there already; else a folder that is there belongs to another run.
        flags: What the folder does not remember.
    """
    if resumes or not _is_begun(folder):
        _now.folder, _now.flags = folder, flags


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an exception began as an interrupt: in the middle of a class that is being made, Python makes another
    one of it.

    >>> try:
    ...     try:
    ...         raise KeyboardInterrupt
    ...     except KeyboardInterrupt as interrupt:
    ...         raise RuntimeError("Error calling __set_name__") from interrupt
    ... except RuntimeError as error:
    ...     is_interrupt(error), is_interrupt(ValueError())
    (True, False)
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def code_of_end() -> int:
    """The exit code of a process that was stopped, as shells have it."""
    return TERMINATED if _now.request.heard == signal.SIGTERM else INTERRUPTED


def said_at_end() -> str:
    """How one goes on, and from where."""
    if _now.folder is not None and _is_begun(_now.folder):
        again = ["train", "--resume", str(_now.folder), *_now.flags]
        told = f"stopped{_from_where(_now.folder)}"
    elif sys.argv[1:2] and sys.argv[1] in GO_ON:
        again, told = sys.argv[1:], "stopped"
    else:
        return "stopped; nothing was kept."
    return f"{told}. Go on with: {shlex.join(['rota', *again])}"


def _from_where(folder: Path) -> str:
    saved = _now.request.saved
    if saved is not None:
        inner = "" if saved.folder == folder else f" of {saved.folder}"
        return f" and saved at step {saved.step}{inner}"
    from rota.training import Checkpoints  # late: it loads torch, which a process that trains has done

    step = Checkpoints(folder, "").latest_step()
    return f"; the last checkpoint is that of step {step}" if step else ""


def _is_begun(folder: Path) -> bool:
    return (folder / RUN).is_file() or (folder / PLAN).is_file()
