"""Ctrl-C and SIGTERM: an orderly end, and the command that goes on."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import NoReturn

from rota.runlog import PLAN, RUN

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM
GO_ON = {"train", "compare", "adapt", "select", "search", "autosem", "demo"}
"""Verbs that keep what is finished: the same command goes on."""


@dataclass
class _Now:
    """What is going on in this process."""

    terminated: bool = False
    folder: Path | None = None
    flags: list[str] = field(default_factory=list)


_now = _Now()


@contextmanager
def orderly_end() -> Iterator[None]:
    """Inside, SIGTERM is an interrupt: what waits in memory is written, and other processes are ended."""
    _now.terminated, _now.folder, _now.flags = False, None, []
    owner = os.getpid()

    def end(number: int, frame: FrameType | None) -> NoReturn:
        if os.getpid() != owner:  # a child that fetches batches: its parent has something to say, it has not
            os._exit(TERMINATED)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # whoever asks a second time does not want to wait
        _now.terminated = True
        raise KeyboardInterrupt

    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if ours:
        signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def resumed_from(folder: Path, resumes: bool, flags: list[str]) -> None:
    """From now on a run is trained that can be resumed.

    Args:
        folder: Of the run.
        resumes: Whether it is there already; else a folder that is there is somebody else's.
        flags: What the folder does not remember.
    """
    if resumes or not _is_begun(folder):
        _now.folder, _now.flags = folder, flags


def code_of_end() -> int:
    """The exit code of a process that was stopped, as shells have it."""
    return TERMINATED if _now.terminated else INTERRUPTED


def said_at_end() -> str:
    """How one goes on."""
    if _now.folder is not None and _is_begun(_now.folder):
        again = ["train", "--resume", str(_now.folder), *_now.flags]
    elif sys.argv[1:2] and sys.argv[1] in GO_ON:
        again = sys.argv[1:]
    else:
        return "stopped; nothing was kept."
    return f"stopped. Go on with: {shlex.join(['rota', *again])}"


def _is_begun(folder: Path) -> bool:
    return (folder / RUN).is_file() or (folder / PLAN).is_file()
