"""The few shapes into which batches are padded, so that few steps have to be captured."""

from __future__ import annotations

import math
from dataclasses import dataclass

LENGTHS = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512)
BEYOND = 128  # above those: multiples of it


def padded_length(length: int, longest: int) -> int:
    """The length to which rows of this length are padded; never more than the longest row, since a model may know
    only so many places.

    >>> [padded_length(length, longest=100) for length in (3, 16, 17, 70, 97)]
    [16, 16, 32, 96, 100]
    >>> padded_length(513, longest=2000)
    640
    """
    ladder = next((step for step in LENGTHS if step >= length), math.ceil(length / BEYOND) * BEYOND)
    return max(length, min(ladder, longest))


def padded_rows(count: int, batch_size: int) -> int:
    """The number of rows to which a batch is padded: that of whole batches.

    >>> padded_rows(32, 32), padded_rows(5, 32), padded_rows(165, 32)
    (32, 32, 192)
    """
    return max(1, math.ceil(count / batch_size)) * batch_size


@dataclass(frozen=True)
class Shape:
    """What a captured piece of work is made for.

    Args:
        tasks: Whose rows it takes: those of one task, or of any of several.
        rows: How many.
        width: Their length; None where rows have none.
    """

    tasks: tuple[str, ...]
    rows: int
    width: int | None

    @property
    def mixed(self) -> bool:
        return len(self.tasks) > 1
