"""Arrays of numbers: by what is in them, and as plain JSON, one number or row for each task."""

from __future__ import annotations

import base64
import functools
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
"""Numbers of rows."""

MANY = 256
"""Tasks above which arrays are written packed, and plans are spread over steps."""


def to_json(tasks: Sequence[str], values: NDArray[Any]) -> dict[str, Any]:
    """An array whose first axis is the tasks, by their names; of many tasks packed, in the order of the names.

    >>> to_json(["b", "a"], np.array([1.0, 2.0]))
    {'b': 1.0, 'a': 2.0}
    """
    if len(tasks) <= MANY:
        return dict(zip(tasks, values.tolist(), strict=True))
    return _packed(values[_by_name(tasks)])


def from_json(tasks: Sequence[str], content: Mapping[str, Any], dtype: Any) -> NDArray[Any]:
    """The array that `to_json` wrote, in the order of these tasks, whichever order it had then."""
    if not is_packed(content):
        return np.array([content[task] for task in tasks], dtype=dtype)
    values = _unpacked(content)
    found = np.empty(values.shape, dtype=dtype)
    found[_by_name(tasks)] = values
    return found


def is_packed(content: Mapping[str, Any]) -> bool:
    """Whether an array was written packed."""
    return content.keys() == {"dtype", "shape", "where", "values"}


def _by_name(tasks: Sequence[str]) -> Ids:
    return _sorted(tuple(tasks))


@functools.lru_cache(maxsize=8)
def _sorted(tasks: tuple[str, ...]) -> Ids:
    """The order of the names: a state has many arrays of the same tasks."""
    return np.array(sorted(range(len(tasks)), key=tasks.__getitem__))


def _packed(values: NDArray[Any]) -> dict[str, Any]:
    """Of most of many tasks little was heard: what is zero takes a bit."""
    little = values.astype(values.dtype.newbyteorder("<")).ravel()
    set_bits = little.view(f"<u{little.itemsize}") != 0  # -0.0 is a number, too
    return {
        "dtype": little.dtype.str,
        "shape": list(values.shape),
        "where": _text(np.packbits(set_bits)),
        "values": _text(little[set_bits]),
    }


def _unpacked(content: Mapping[str, Any]) -> NDArray[Any]:
    shape, dtype = tuple(content["shape"]), np.dtype(content["dtype"])
    found = np.zeros(int(np.prod(shape)), dtype)
    set_bits = np.unpackbits(np.frombuffer(_data(content["where"]), np.uint8), count=len(found)).astype(bool)
    found[set_bits] = np.frombuffer(_data(content["values"]), dtype)
    return found.reshape(shape)


def _text(values: NDArray[Any]) -> str:
    return base64.b64encode(zlib.compress(values.tobytes(), 1)).decode()


def _data(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))
