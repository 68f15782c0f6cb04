"""The lock of a journal file."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock
from optuna.storages.journal import JournalFileOpenLock, JournalFileSymlinkLock

from rota.runlog import is_shared


class HeldLock(JournalFileOpenLock):  # whose base has no public name
    """A lock of the operating system, which it lets go however its holder ends. Optuna's own is a link, which stays
    behind when its holder is killed: who comes next waits for half a minute.

    Args:
        file: The journal.

    >>> import tempfile
    >>> lock = HeldLock(Path(tempfile.mkdtemp()) / "study.journal")
    >>> lock.acquire()
    True
    >>> lock.release()
    """

    def __init__(self, file: Path) -> None:
        super().__init__(str(file))
        self._lock = FileLock(f"{file}.held")

    def acquire(self) -> bool:
        self._lock.acquire()
        return True

    def release(self) -> None:
        self._lock.release()


def journal_lock(file: Path) -> JournalFileOpenLock | JournalFileSymlinkLock:
    """The lock for a journal: of the operating system, or on a network disk, where there may be none, Optuna's."""
    return JournalFileSymlinkLock(str(file)) if is_shared(file.parent) else HeldLock(file)
