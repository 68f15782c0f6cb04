"""`digits`: two handwritten digits on one picture, five tasks, no download."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from rota.data._suite import made
from rota.errors import missing_package
from rota.seeds import generator
from rota.tasks import Classification, Pictures, Task, TensorRows

SEED = 0  # of the data, not of a run: every run sees the same rows
PICTURES = Path("datasets", "data", "digits.csv.gz")  # in scikit-learn
SIDE, SHIFT = 8, 4  # a digit has 8 x 8 pixels; the second one stands 4 further down and right
SOURCES = {"train": 1000, "dev": 350, "test": 447}  # source images per split: no image is in two splits
TRAIN_ROWS = {"left": 1200, "right": 400, "larger": 800, "parity": 300, "noise": 600}
EVALUATION_ROWS = {"dev": 500, "test": 1000}


def load_digits() -> Sequence[Task]:
    """Two digits overlaid as in MultiMNIST (one top-left, one bottom-right), made from the 1,797 pictures
    that scikit-learn brings along.

    Tasks `left` and `right`: which digit stands there? Auxiliaries: `larger` (is left ≥ right?), `parity`
    (is left odd?) and `noise` (labels drawn once at random: nothing to learn, something to avoid). Each
    task has rows of its own and few of them, so that it matters what a model trains on.
    """
    pictures, digits = _pictures()
    order = generator(SEED, "digits", "split").permutation(len(digits))
    ends = np.cumsum(list(SOURCES.values()))
    sources = dict(zip(SOURCES, np.split(order, ends[:-1]), strict=True))

    def rows(task: str, split: str) -> TensorRows:
        count = EVALUATION_ROWS.get(split, TRAIN_ROWS[task])
        return _rows(task, split, count, sources[split], pictures, digits)

    return [
        Task(
            name,
            Classification(2 if name in ("larger", "parity") else 10),
            {split: rows(name, split) for split in SOURCES},
            Pictures(SIDE + SHIFT),
            auxiliary=name not in ("left", "right"),
        )
        for name in TRAIN_ROWS
    ]


def _pictures() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The pictures [N, 8, 8] and which digits they show, from scikit-learn's file: to import scikit-learn takes longer
    than to train for a thousand updates."""
    package = find_spec("sklearn")
    if package is None or not package.submodule_search_locations:
        raise missing_package("digits", "scikit-learn", "train")
    table = np.loadtxt(Path(package.submodule_search_locations[0]) / PICTURES, delimiter=",")
    return (table[:, :-1] / 16.0).astype(np.float32).reshape(-1, SIDE, SIDE), table[:, -1].astype(np.int64)


def _rows(
    task: str,
    split: str,
    count: int,
    sources: NDArray[np.int64],
    pictures: NDArray[np.float32],
    digits: NDArray[np.int64],
) -> TensorRows:
    rng = generator(SEED, "digits", task, split)
    left, right = rng.choice(sources, (2, count))
    canvas = np.zeros((count, SIDE + SHIFT, SIDE + SHIFT), dtype=np.float32)
    canvas[:, :SIDE, :SIDE] = pictures[left]
    corner = canvas[:, SHIFT:, SHIFT:]
    np.maximum(corner, pictures[right], out=corner)
    labels = {
        "left": digits[left],
        "right": digits[right],
        "larger": (digits[left] >= digits[right]).astype(np.int64),
        "parity": digits[left] % 2,
        "noise": rng.integers(10, size=count),
    }[task]
    return TensorRows({"image": torch.from_numpy(canvas)[:, None]}, torch.from_numpy(labels))


DIGITS = made(
    "digits",
    "two overlaid handwritten digits (from scikit-learn), two tasks and three auxiliaries",
    tuple(TRAIN_ROWS),
    load_digits,
)
