"""A run folder as bytes, for machines that do not share a disk."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rota.errors import RotaError, missing_package
from rota.runlog import only_writer
from rota.workers._labour import Assignment, HowItEnded

SHARED, SENT = "shared", "sent"


def pack(folder: Path) -> bytes:
    """What is in a folder; nothing where there is none."""
    if not folder.is_dir():
        return b""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, path.name)
    return out.getvalue()


def unpack(packed: bytes, folder: Path) -> None:
    """Have in a folder what was packed, instead of what is there."""
    with only_writer(folder):
        pass  # nobody else's
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as place:
        _extract(packed, Path(place) / "run")
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(Path(place) / "run", folder)


def _extract(packed: bytes, folder: Path) -> None:
    folder.mkdir()
    try:
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as archive:
            archive.extractall(folder, filter="data")
    except (tarfile.TarError, EOFError, OSError) as error:
        raise RotaError(f"Expected a packed run for {folder.parent}. Found a damaged one ({error}).") from error


class Errand(NamedTuple):
    """An assignment for a machine that sees nothing of the caller's disk.

    Args:
        assignment: The folder is the caller's.
        begun: What is in it.
        url: Where results are kept, as fsspec understands it; empty: they are returned.
    """

    assignment: Assignment
    begun: bytes
    url: str

    def work(self, work: Callable[[Assignment], HowItEnded]) -> tuple[HowItEnded, bytes]:
        """Do it in a folder of this machine; how it ended, and what was in the folder unless it is kept elsewhere."""
        begun = (kept_at(self.url, self.assignment.name) if self.url else b"") or self.begun
        with tempfile.TemporaryDirectory(prefix="rota-") as place:
            folder = Path(place) / self.assignment.name
            if begun:
                _extract(begun, folder)
            ended = work(self.assignment._replace(folder=str(folder)))
            packed = pack(folder) if ended[0] == "done" else b""
        if self.url and packed:
            keep_at(self.url, self.assignment.name, packed)
            packed = b""
        return ended, packed


def keep_at(url: str, name: str, packed: bytes) -> None:
    """Write `NAME.tgz` there, in one piece."""
    files, root = _file_system(url)
    files.makedirs(root, exist_ok=True)
    with files.transaction:
        files.pipe_file(f"{root}/{name}.tgz", packed)


def kept_at(url: str, name: str) -> bytes:
    """What is there; nothing where there is no such file."""
    files, root = _file_system(url)
    try:
        found: bytes = files.cat_file(f"{root}/{name}.tgz")
    except FileNotFoundError:
        return b""
    return found


def _file_system(url: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError as error:
        raise missing_package("results=URL", "fsspec", "cluster") from error
    try:
        files, root = fsspec.core.url_to_fs(url)
    except (ValueError, ImportError) as error:
        raise RotaError(
            f"results= expects shared, sent, or a URL that fsspec can open. Found '{url}': {error}."
        ) from error
    return files, root.rstrip("/")
