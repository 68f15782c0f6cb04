"""Files from strangers: one that unpacks without end is refused before it fills the memory."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from rota.errors import RotaError

LARGE = 2**30
"""Bytes that a line, or an unpacked file, may have in any case."""
RATIO = 200
"""How many times its packed size a larger file may have; text packs to about a tenth."""


def raw_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file as they are, gzipped where its name ends in .gz."""
    packed = path.suffix == ".gz"
    most = max(LARGE, RATIO * path.stat().st_size) if packed else None
    read = 0
    try:
        with gzip.open(path, "rb") if packed else path.open("rb") as file:
            while line := file.readline(LARGE + 1):
                read += len(line)
                if len(line) > LARGE or (most is not None and read > most):
                    raise _endless(path)
                yield line
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise RotaError(f"{path}: expected a whole gzip file. Found a damaged one ({error}).") from error


def unpacked(path: Path) -> bytes:
    """The content of a file, gzipped or not; its first bytes tell which."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if packed else path.open("rb") as file:
            content = file.read(LARGE + 1)
    except FileNotFoundError:
        raise RotaError(f"Expected a file at {path}. Found none.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise RotaError(f"{path}: expected a whole gzip file. Found a damaged one ({error}).") from error
    if len(content) > LARGE:
        raise _endless(path)
    return content


def _endless(path: Path) -> RotaError:
    return RotaError(
        f"{path}: expected lines of at most {LARGE:,} bytes, and at most {RATIO} times as many unpacked as packed. "
        f"Found more. Split it if it is what you want to train on."
    )
