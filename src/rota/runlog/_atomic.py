"""Files that appear whole or not at all: a reader sees the old one or the new one, never half of one."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rota.runlog._writer_lock import refuse_lost

UNFINISHED = ".tmp"
NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside `path` to write into; afterwards it is on the disk and takes the place of `path`. If anything goes
    wrong, `path` is as it was. What is no file (a terminal, a pipe) is written as it is.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "page.html"
    ...     with replacing(page) as temporary:
    ...         _ = temporary.write_text("<p>")
    ...         page.exists()
    ...     page.read_text()
    False
    '<p>'
    """
    refuse_lost(path)
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        yield path
        return
    temporary = _beside(path)
    try:
        yield temporary
        _sync(temporary)
        refuse_lost(path)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder beside `folder` to write into, which becomes it: a reader finds all of it, or nothing. An empty folder
    may be there already.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with new_folder(Path(place) / "model") as inside:
    ...         _ = (inside / "config.json").write_text("{}")
    ...         (Path(place) / "model").exists()
    ...     sorted(path.name for path in (Path(place) / "model").iterdir())
    False
    ['config.json']
    """
    folder = Path(os.path.realpath(folder))
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(folder)
    temporary.mkdir()
    try:
        yield temporary
        for path in temporary.rglob("*"):
            if path.is_file():
                _sync(path)
        temporary.rename(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.{os.getpid()}-{uuid.uuid4().hex[:8]}{UNFINISHED}")


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def write_text(path: Path, text: str) -> None:
    """Write a whole text file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(Path(folder) / "page.html", "<p>")
    ...     [path.name for path in Path(folder).iterdir()]
    ['page.html']
    """
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a whole JSON file, even with several writers.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_json(Path(folder) / "some.json", {"steps": 3})
    ...     json.loads((Path(folder) / "some.json").read_text())
    {'steps': 3}
    """
    write_text(path, _as_json(content))


def create_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a whole JSON file that must not be there yet; FileExistsError if it is.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     create_json(Path(folder) / "run.json", {"id": 1})
    ...     try:
    ...         create_json(Path(folder) / "run.json", {"id": 2})
    ...     except FileExistsError:
    ...         json.loads((Path(folder) / "run.json").read_text())
    {'id': 1}
    """
    text = _as_json(content)
    temporary = _beside(path)
    try:
        with temporary.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)  # the one way to name a whole file that never replaces another
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _as_json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
