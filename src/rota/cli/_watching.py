"""A page that is written again while its runs go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from rota.runlog import LOG, SUMMARY

EVERY_S = 3.0
"""Between two looks at the logs."""
SLOWER = 4  # times as long as a page took to write, at least: long logs must not keep a core busy


def watch(folders: Callable[[], Iterable[Path]], write: Callable[[float | None], object]) -> bool:
    """Write the page whenever a log has grown, until all runs have ended; then, or at Ctrl-C, once more as it stays.

    Args:
        folders: Of the runs that there are to be.
        write: Writes the page, which loads itself again after so many seconds; None: which stays.

    Returns:
        Whether the runs have ended.
    """
    seen: list[tuple[int, bool]] | None = None
    try:
        while not all((folder / SUMMARY).is_file() for folder in folders()):
            began, found = time.monotonic(), [_state(folder) for folder in folders()]
            if found != seen:
                write(EVERY_S)
                seen = found
            time.sleep(max(EVERY_S, SLOWER * (time.monotonic() - began)))
        ended = True
    except KeyboardInterrupt:
        ended = False
    write(None)
    return ended


def _state(folder: Path) -> tuple[int, bool]:
    """How long its log is, and whether it has ended."""
    log = folder / LOG
    return log.stat().st_size if log.is_file() else 0, (folder / SUMMARY).is_file()
