"""Ctrl-C and SIGTERM: a training that hears one of them saves its step before it ends."""

from __future__ import annotations

import _thread
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from rota.errors import RotaError, resuming

__all__ = ["GRACE", "Stopped", "save_on_signals"]

GRACE = 25.0
"""Seconds that a training has for it: SLURM, Kubernetes and torchrun kill after 30."""


class Stopped(KeyboardInterrupt):
    """A training has ended because it was asked to; everything up to `step` is saved in `folder`.

    >>> try:
    ...     raise Stopped(Path("runs/mine"), step=40)  # as `rota.fit` does inside `save_on_signals`
    ... except KeyboardInterrupt as stopped:
    ...     stopped.folder, stopped.step
    (PosixPath('runs/mine'), 40)
    """

    def __init__(self, folder: Path, step: int) -> None:
        super().__init__(f"Everything up to step {step} is saved. Continue with {resuming(folder)}.")
        self.folder, self.step = folder, step


@dataclass
class StopRequest:
    """What was asked of this process.

    Args:
        grace: Seconds that a training has to save its step.
        heard: The first signal; None as long as there was none.
        saved: What a training has saved since.
    """

    grace: float
    heard: signal.Signals | None = None
    saved: Stopped | None = None


_now: StopRequest | None = None
_training = 0  # loops that look at the end of each step whether they were asked to end


@contextmanager
def save_on_signals(grace: float = GRACE) -> Iterator[StopRequest]:
    """Inside, a training (`rota.fit`) that is asked to end by Ctrl-C or SIGTERM saves a checkpoint at the end of its
    step and raises `Stopped`, a `KeyboardInterrupt`. A second signal, or one while
    nothing is trained, ends the process at once; so does a step that is not saved after `grace` seconds.

    Only the main thread can hear signals. Those that have a handler already, or are ignored, are left alone.

    >>> with save_on_signals() as request:
    ...     request.heard is None  # `rota.fit(…)` here ends with a checkpoint when it receives Ctrl-C or SIGTERM
    True
    """
    global _now
    if threading.current_thread() is not threading.main_thread():
        raise RotaError("save_on_signals expects the main thread, which alone hears signals. Found another one.")
    usual: dict[signal.Signals, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    ours = [number for number, handler in usual.items() if signal.getsignal(number) == handler]
    before, owner, request = _now, os.getpid(), StopRequest(grace)

    def hear(number: int, frame: FrameType | None) -> None:
        if os.getpid() != owner:  # a child of ours: its parent has something to say, it has not
            os._exit(128 + number)
        first = request.heard is None
        request.heard = request.heard or signal.Signals(number)
        if first and _training:
            _thread.start_new_thread(_lose_patience, (request, request.heard))
            return
        for own in ours:
            signal.signal(own, usual[own])  # whoever asks once more does not want to wait for anything
        raise KeyboardInterrupt

    _now = request
    for number in ours:
        signal.signal(number, hear)
    try:
        yield request
    finally:
        _now = before
        for number in ours:
            signal.signal(number, usual[number])
    if request.heard is not None:
        raise KeyboardInterrupt  # it came when a training was about to end anyway, and nobody has answered it


def _lose_patience(request: StopRequest, heard: signal.Signals) -> None:
    """As a second signal would."""
    time.sleep(request.grace)
    if _now is request and request.saved is None and _training:
        signal.pthread_kill(threading.main_thread().ident or 0, heard)  # also out of a call that waits


@contextmanager
def at_step_ends() -> Iterator[None]:
    """Inside, a training looks at the end of each step whether it is to end (`is_asked`): signals wait until then."""
    global _training
    if is_asked():
        raise KeyboardInterrupt
    _training += 1
    try:
        yield
    finally:
        _training -= 1


def is_asked() -> bool:
    """Whether this process has been asked to end."""
    return _now is not None and _now.heard is not None


def stop(folder: Path, step: int) -> Stopped:
    """The step is saved: what to raise now."""
    stopped = Stopped(folder, step)
    if _now is not None:
        _now.saved = stopped
    return stopped
