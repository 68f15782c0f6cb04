"""MultiMNIST: two handwritten digits on one picture, made from the original files of MNIST."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rota.arrays import Ids
from rota.data._safe_files import unpacked
from rota.errors import RotaError
from rota.seeds import generator
from rota.tasks import Batch, Classification, Pictures, Task

SEED = 0  # of the data, not of a run: every run sees the same rows
SIDE, SHIFT, CANVAS = 28, 6, 36  # the second digit stands 6 further down and right on a canvas of 36 x 36
DEV_SHARE = 6  # one training picture in six is for dev: 10,000 of 60,000
CHUNK = 5000  # pictures that are drawn at a time, to keep memory low
FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
TASKS = ("multimnist-tl", "multimnist-br")

Bytes = NDArray[np.uint8]


def load_multimnist(folder: Path) -> list[Task]:
    """The variant of Sener & Koltun: `multimnist-tl` asks for the top-left digit, `multimnist-br` for the bottom-right
    one of the same 50,000 training, 10,000 dev and 10,000 test pictures.

    A canvas of 36 x 36 holds the first digit in its top-left corner and the second one 6 pixels further down and to the
    right, so that they overlap on 22 x 22; where they do, the brighter pixel wins. The canvas is then resized to
    28 x 28 by taking the nearest pixels.

    A sixth of the training pictures is set aside for dev before anything is paired, so no handwritten digit is in two
    splits. Each picture of a split is the top-left digit of one row, in the order of the files; its partner is drawn at
    random from the same split. Draws depend on nothing but the number of pictures.

    Args:
        folder: Holds the four idx files of MNIST, gzipped or not, in itself or in its subfolder `mnist`.

    Each task's notes keep the SHA-256 of the four files, one after the other and unpacked.

    Where this differs from the released code: that pairs the training pictures before dev rows are set aside.

    Reference: Sener & Koltun, "Multi-Task Learning as Multi-Objective Optimization", NeurIPS 2018.
    """
    paths = _find(folder)
    contents = [unpacked(path) for path in paths]
    arrays = [_parsed(path, content) for path, content in zip(paths, contents, strict=True)]
    train, test = _digits(paths[0], arrays[0], paths[1], arrays[1]), _digits(paths[2], arrays[2], paths[3], arrays[3])
    order = generator(SEED, "multimnist", "split").permutation(len(train[1]))
    cut = len(order) // DEV_SHARE
    sources = {
        "train": (*train, np.sort(order[cut:])),
        "dev": (*train, np.sort(order[:cut])),
        "test": (*test, np.arange(len(test[1]))),
    }
    rows = {split: _pair(split, *source) for split, source in sources.items()}
    content = hashlib.sha256()
    for part in contents:
        content.update(part)
    return [
        Task(
            name,
            Classification(10),
            {split: PictureRows(pictures, labels[:, k]) for split, (pictures, labels) in rows.items()},
            Pictures(SIDE),
            notes={"content": content.hexdigest()},
        )
        for k, name in enumerate(TASKS)
    ]


class PictureRows:
    """Grey pictures kept as bytes; a batch holds numbers from 0 to 1. Tasks may share the pictures.

    Args:
        pictures: [N, side, side], one byte per pixel.
        labels: One per picture.

    >>> rows = PictureRows(torch.full((3, 2, 2), 255, dtype=torch.uint8), torch.arange(3))
    >>> rows.batch(np.array([1])).inputs["image"].max()
    tensor(1.)
    """

    def __init__(self, pictures: Tensor, labels: Tensor) -> None:
        self._pictures, self._labels = pictures, labels
        self.side: Mapping[str, Any] = {}

    def __len__(self) -> int:
        return len(self._labels)

    def batch(self, ids: Ids) -> Batch:
        return self.device_rows().take(torch.from_numpy(ids))

    def device_rows(self) -> PictureShelf:
        return PictureShelf(self._pictures, self._labels)

    def labels(self) -> Tensor:
        return self._labels

    def lengths(self) -> Ids | None:
        return None

    def take(self, ids: Ids) -> PictureRows:
        chosen = torch.from_numpy(ids)
        return PictureRows(self._pictures[chosen], self._labels[chosen])


@dataclass(frozen=True)
class PictureShelf:
    """Pictures as bytes on one device; see `PictureRows`."""

    pictures: Tensor
    labels: Tensor

    @property
    def tensors(self) -> list[Tensor]:
        return [self.pictures, self.labels]

    def to(self, device: torch.device) -> PictureShelf:
        return PictureShelf(self.pictures.to(device), self.labels.to(device))

    def take(self, ids: Tensor, width: int | None = None) -> Batch:
        return Batch({"image": self.pictures[ids][:, None].float() / 255}, self.labels[ids])


def overlay(first: Bytes, second: Bytes) -> Bytes:
    """Pictures [N, 28, 28] with the first digits top-left and the second ones bottom-right."""
    canvas = np.zeros((len(first), CANVAS, CANVAS), dtype=np.uint8)
    canvas[:, :SIDE, :SIDE] = first
    corner = canvas[:, SHIFT : SHIFT + SIDE, SHIFT : SHIFT + SIDE]
    np.maximum(corner, second, out=corner)
    nearest = ((np.arange(SIDE) + 0.5) * CANVAS / SIDE).astype(int)
    return canvas[:, nearest][:, :, nearest]


def _pair(split: str, pictures: Bytes, digits: Bytes, sources: Ids) -> tuple[Tensor, Tensor]:
    """The pictures of a split as bytes [N, 28, 28] and both of their digits [N, 2]."""
    partners = generator(SEED, "multimnist", split).choice(sources, len(sources))
    made = np.empty((len(sources), SIDE, SIDE), dtype=np.uint8)
    for start in range(0, len(sources), CHUNK):
        part = slice(start, start + CHUNK)
        made[part] = overlay(pictures[sources[part]], pictures[partners[part]])
    labels = np.stack([digits[sources], digits[partners]], axis=1).astype(np.int64)
    return torch.from_numpy(made), torch.from_numpy(labels)


def _find(folder: Path) -> list[Path]:
    """Where the four files are; a refusal names every place where it looked."""
    homes = (folder / "mnist", folder)
    places = {name: [home / f"{name}{end}" for home in homes for end in ("", ".gz")] for name in FILES}
    found = {name: next((path for path in paths if path.is_file()), None) for name, paths in places.items()}
    missing = [str(place) for name, path in found.items() if path is None for place in places[name]]
    if missing:
        raise RotaError(
            f"MultiMNIST expects the four files of MNIST ({', '.join(FILES)}), each plain or as .gz. Found nothing at "
            f"{', '.join(missing)}. Name the folder that holds them."
        )
    return [path for path in found.values() if path is not None]


def _parsed(path: Path, content: bytes) -> Bytes:
    """The array in the content of an idx file of unsigned bytes."""
    if content[:3] != b"\x00\x00\x08" or len(content) < 4 or not content[3]:
        raise RotaError(
            f"{path} should be an idx file of unsigned bytes, which begins with 00 00 08 and its number of dimensions. "
            f"Found {content[:4].hex(' ') or 'an empty file'}."
        )
    start = 4 + 4 * content[3]
    shape = [int.from_bytes(content[k : k + 4], "big") for k in range(4, start, 4)]
    expected = start + math.prod(shape)
    if len(content) != expected:
        size = " x ".join(map(str, shape))
        raise RotaError(
            f"{path} should have {expected} bytes for {size} numbers, as its header says. Found {len(content)}. "
            f"Fetch the file again."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def _digits(path: Path, pictures: Bytes, labels_path: Path, labels: Bytes) -> tuple[Bytes, Bytes]:
    """Pictures and their labels, checked against each other."""
    if pictures.shape[1:] != (SIDE, SIDE):
        raise RotaError(f"{path} should hold pictures of {SIDE} x {SIDE}. Found an array of {list(pictures.shape)}.")
    if labels.shape != (len(pictures),):
        raise RotaError(
            f"{labels_path} should hold one label for each of the {len(pictures)} pictures in {path}. "
            f"Found an array of {list(labels.shape)}."
        )
    if labels.size and labels.max() > 9:
        raise RotaError(f"{labels_path} should hold digits from 0 to 9. Found {labels.max()}.")
    return pictures, labels
