"""A folder that is written into holds its own files."""

from __future__ import annotations

from pathlib import Path

from rota.errors import RotaError

INSIDE = ("checkpoints", "best")
"""Folders of a run in which files are replaced and removed."""


def refuse_links(folder: Path) -> None:
    """Refuse a folder with links in places that are truncated, replaced or removed: what they lead to would be, too.

    A link to the whole folder is fine.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     (Path(place) / "log.jsonl").symlink_to("/etc/hostname")
    ...     refuse_links(Path(place))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    rota.errors.RotaError: Expected files of its own in ... Found log.jsonl, a link to /etc/hostname. ...
    """
    found = _entries(folder)
    found += [inside for name in INSIDE for path in _entries(folder / name) for inside in (path, *_entries(path))]
    for path in found:
        if path.is_symlink():
            raise RotaError(
                f"Expected files of its own in {folder}. Found {path.relative_to(folder)}, a link to "
                f"{path.readlink()}. Link the whole folder, or put the files into it."
            )


def _entries(place: Path) -> list[Path]:
    return sorted(place.iterdir()) if place.is_dir() else []
