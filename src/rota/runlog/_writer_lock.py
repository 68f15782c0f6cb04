"""One writer for a folder: a second one is told who the first is.

On a disk of this machine the operating system holds the lock, and lets it go however its holder ends. On a network disk
it is a lease that its holder renews: one that is not renewed any more is taken over. A holder that was only slow finds
out before its next write, and stops.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rota.errors import RotaError
from rota.runlog._links import refuse_links
from rota.runlog._network_disk import is_shared

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK = "writer.lock"
"""The file that is locked."""
WRITER = "writer.json"
"""The file that says who holds the lock."""
PATIENCE = 0.5  # seconds in which a holder that is about to end may do so
LEASE = 30.0  # seconds without a sign of life after which a holder on a network disk counts as dead
AGAIN = 0.2, 5  # seconds between looks for a lease that somebody may be looking at, and how many


class FolderBusyError(RotaError):
    """Another process is writing into this folder.

    >>> raise FolderBusyError("runs/a is written by process 7 on here since 10:00.")
    Traceback (most recent call last):
    rota.runlog._writer_lock.FolderBusyError: runs/a is written by process 7 on here since 10:00.
    """


class _Hold:
    """That this process is the writer of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.thread, self._lost = folder, threading.get_ident(), ""
        self._file = folder / LOCK
        self._shared = is_shared(folder)
        self._lock = self._acquire()
        self._identity = self._look()
        with contextlib.suppress(OSError):  # a full disk: a lock without a name is one, too
            (folder / WRITER).write_text(json.dumps(_own_name()) + "\n", encoding="utf-8")

    def _acquire(self) -> BaseFileLock:
        from filelock import FileLock, SoftFileLease, Timeout  # late: who only reads needs none

        lock: BaseFileLock
        try:
            if not self._shared:
                lock = FileLock(self._file, thread_local=False)
                lock.acquire(timeout=PATIENCE, poll_interval=PATIENCE / 10)
                return lock
            lock = SoftFileLease(self._file, lease_duration=LEASE, on_compromise=self._lose, thread_local=False)
            seen = self._sign_of_life()
            lock.acquire(
                timeout=2 * LEASE, poll_interval=LEASE / 60, cancel_check=lambda: self._sign_of_life() not in (seen, 0)
            )
        except Timeout:
            raise FolderBusyError(
                f"Expected nobody else who writes into {self.folder}. Found {_told(self.folder)}. Wait until it ends, "
                f"or choose another folder."
            ) from None
        return lock

    def _sign_of_life(self) -> int:
        """When the lease was last renewed; 0 where there is none."""
        try:
            return self._file.stat().st_mtime_ns
        except OSError:
            return 0

    def _look(self) -> tuple[int, int] | None:
        try:
            found = self._file.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _lose(self, loss: Any) -> None:
        self._lost = str(loss.reason)

    def refuse_lost(self) -> None:
        """Stop here if the folder belongs to another process by now."""
        if not self._shared:
            return
        pause, looks = AGAIN
        for _ in range(looks):
            if self._lost or self._look() == self._identity:
                break
            time.sleep(pause)  # somebody who looks whether a lease is still renewed moves it aside for a moment
        else:
            self._lost = "owner-changed"
        if self._lost:
            raise FolderBusyError(
                f"Expected to be still the only one who writes into {self.folder}. Found that the lease was lost "
                f"({self._lost}), now of {_told(self.folder)}. Nothing was written since; let that one go on."
            )

    def release(self) -> None:
        if not self._lost and self._look() == self._identity:
            (self.folder / WRITER).unlink(missing_ok=True)
            if not self._shared:
                self._file.unlink(missing_ok=True)  # while it is held: who waits for it sees that it is gone
        self._lock.release()


_held: dict[Path, _Hold] = {}
_entering = threading.Lock()


@contextlib.contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Be the only one who writes into this folder, or refuse to; the one that is it already may enter again.

    The folder is made if there is none, and taken away again if nothing was written into it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with only_writer(Path(place) / "run"):
    ...         sorted(path.name for path in (Path(place) / "run").iterdir())
    ...     (Path(place) / "run").exists()
    ['writer.json', 'writer.lock']
    False
    """
    place = Path(os.path.realpath(folder))
    with _entering:
        own = _held.get(place)
        if own is None:
            made = _make(folder)
            try:
                refuse_links(folder)
                _held[place] = hold = _Hold(folder)
            except OSError as error:
                _remove(made)
                raise _unwritable(folder, error) from error
            except BaseException:
                _remove(made)
                raise
    if own is not None:
        if own.thread != threading.get_ident():
            raise FolderBusyError(f"Expected nobody else who writes into {folder}. Found another thread of this one.")
        yield
        return
    try:
        yield
    finally:
        with _entering:
            del _held[place]
            with contextlib.suppress(OSError):
                hold.release()
            _remove(made)


def refuse_lost(path: Path) -> None:
    """Refuse to write a file in a folder whose lease this process has lost.

    >>> refuse_lost(Path("page.html"))  # in a folder without a lock nothing can be lost
    """
    if _held:
        place = Path(os.path.realpath(path))
        for own, hold in tuple(_held.items()):
            if own in place.parents:
                hold.refuse_lost()


def _make(folder: Path) -> list[Path]:
    """Make a folder; which ones were made, the innermost first."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error
    return missing


def _remove(folders: list[Path]) -> None:
    with contextlib.suppress(OSError):  # not empty
        for folder in folders:
            folder.rmdir()


def _unwritable(folder: Path, error: OSError) -> RotaError:
    return RotaError(f"Expected a folder that can be written at {folder}. Found: {error.strerror}.")


def _own_name() -> dict[str, Any]:
    return {"pid": os.getpid(), "host": platform.node(), "started": time.strftime("%Y-%m-%dT%H:%M:%S%z")}


def _told(folder: Path) -> str:
    """Who writes, as that one has said."""
    try:
        found = json.loads((folder / WRITER).read_text(encoding="utf-8"))
        return f"process {found['pid']} on {found['host']}, at work since {found['started']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process, which has not said its name"
