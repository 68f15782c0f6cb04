"""Arrays that grow while they are written and are mapped into memory when they are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


class ArrayWriter:
    """Collects arrays piece by piece: in files of a folder, or in memory where there is none.

    A file holds the bytes of one array; `meta.json`, written last, holds their types and shapes and whatever else
    is to be remembered.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._files: dict[str, Any] = {}
        self._kinds: dict[str, tuple[str, tuple[int, ...]]] = {}
        self._lengths: dict[str, int] = {}
        self._pieces: dict[str, list[NDArray[Any]]] = {}

    def add(self, name: str, piece: NDArray[Any]) -> None:
        """Append to one of the arrays, along its first axis."""
        self._kinds.setdefault(name, (piece.dtype.str, piece.shape[1:]))
        self._lengths[name] = self._lengths.get(name, 0) + len(piece)
        if self._folder is None:
            self._pieces.setdefault(name, []).append(piece)
            return
        if name not in self._files:
            self._files[name] = (self._folder / f"{name}.bin").open("wb")
        self._files[name].write(np.ascontiguousarray(piece).data)

    @property
    def empty(self) -> bool:
        """Whether nothing was added so far."""
        return not self._lengths

    def ends(self, flat: str, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where pieces of these lengths will end in a flat array, when they are added to it next."""
        return self._lengths.get(flat, 0) + np.cumsum(lengths)

    def close(self) -> None:
        """Close the files; `finish` does it, too."""
        for file in self._files.values():
            file.close()

    def finish(self, remembered: Mapping[str, Any]) -> tuple[Arrays, dict[str, Any]]:
        """The arrays, and what is to be remembered with them."""
        if self._folder is None:
            return {name: np.concatenate(pieces) for name, pieces in self._pieces.items()}, dict(remembered)
        self.close()
        shapes = {
            name: {"dtype": dtype, "shape": [self._lengths[name], *rest]} for name, (dtype, rest) in self._kinds.items()
        }
        (self._folder / "meta.json").write_text(json.dumps({"arrays": shapes, "remembered": dict(remembered)}))
        return open_arrays(self._folder)


def open_arrays(folder: Path) -> tuple[Arrays, dict[str, Any]]:
    """Arrays that stay on the disk until they are read. They may be written to, as torch wants it; the files
    stay as they are."""
    meta = json.loads((folder / "meta.json").read_text())
    arrays = {}
    for name, kind in meta["arrays"].items():
        shape = tuple(kind["shape"])
        empty = 0 in shape
        path = folder / f"{name}.bin"
        arrays[name] = (
            np.empty(shape, kind["dtype"]) if empty else np.memmap(path, kind["dtype"], mode="c", shape=shape)
        )
    return arrays, meta["remembered"]
