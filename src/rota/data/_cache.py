"""What was made once from given content is kept on the disk and found again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from rota.data._arrays import Arrays, ArrayWriter, open_arrays
from rota.errors import RotaError

UNFINISHED = "tmp-"  # how the names of folders begin that are being made
MakeTokens = Callable[[ArrayWriter], dict[str, Any]]
"""Writes arrays and returns what is to be remembered with them."""


def kept(cache: Path, name: str, key: Any, make: MakeTokens) -> tuple[Arrays, dict[str, Any]]:
    """Arrays from the cache, made now if they are not there.

    A folder is written under another name and then renamed: a reader finds it whole or not at all. Of several
    processes that want the same, one makes it and the others wait.

    Args:
        cache: The folder of the cache.
        name: For people who look into it.
        key: Plain values that the content depends on.
        make: Makes the content.
    """
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:32]
    readable = re.sub(r"[^\w.-]", "-", name)
    folder = cache / f"{readable}-{digest}"
    if not (folder / "meta.json").is_file():
        cache.mkdir(parents=True, exist_ok=True)
        _drop_leftovers(cache)
        with FileLock(cache / f"{folder.name}.lock"):
            if not (folder / "meta.json").is_file():
                _make(folder, make)
    return open_arrays(folder)


def _drop_leftovers(cache: Path) -> None:
    """Remove what processes have left that were killed while they made something: nobody holds its lock."""
    for leftover in cache.glob(f"{UNFINISHED}*"):
        lock = FileLock(cache / f"{leftover.name.removeprefix(UNFINISHED).rpartition('-')[0]}.lock")
        with contextlib.suppress(Timeout), lock.acquire(timeout=0):
            shutil.rmtree(leftover, ignore_errors=True)


def _make(folder: Path, make: MakeTokens) -> None:
    temporary = folder.with_name(f"{UNFINISHED}{folder.name}-{uuid.uuid4().hex[:8]}")
    temporary.mkdir()
    writer = ArrayWriter(temporary)
    try:
        writer.finish(make(writer))
        shutil.rmtree(folder, ignore_errors=True)  # half of an older attempt
        temporary.rename(folder)
    finally:
        writer.close()
        shutil.rmtree(temporary, ignore_errors=True)


def content_of(paths: Iterable[Path]) -> str:
    """A hash of the content of files."""
    total = hashlib.sha256()
    for path in paths:
        try:
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise RotaError(f"Expected a file that can be read at {path}. Found: {error.strerror}.") from error
    return total.hexdigest()
