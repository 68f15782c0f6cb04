"""Which members of a stack go through a pass together."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from rota.engine._text_pass import TextRow, TextShape

TOKENS = (64, 128, 192, 256, 384, 512, 768, 1024, 1280, 1536, 1792, 2048, 2304, 2560, 3072, 3584, 4096)
BEYOND = 1024  # above those: multiples of it
LAUNCHES, MEMBER, TOKEN, WEIGHT = 1.2, 0.5, 3.5e-4, 1.2e-5
"""Milliseconds on an H200 of any pass, of one more member, of one more token, and of L² for rows of length L."""


def padded_tokens(count: int) -> int:
    """The length of a line for so many tokens.

    >>> padded_tokens(70), padded_tokens(5000)
    (128, 5120)
    """
    return next((step for step in TOKENS if step >= count), math.ceil(count / BEYOND) * BEYOND)


def padded_members(count: int, most: int) -> int:
    """The number of places for so many members: few numbers, so that few passes have to be captured.

    >>> [padded_members(count, most=12) for count in (1, 2, 3, 5, 9)]
    [1, 2, 4, 8, 12]
    """
    return min(1 << (count - 1).bit_length(), most) if count <= most else count


def groups_alike(items: Sequence[TextRow], rows: int) -> list[tuple[TextShape, list[int]]]:
    """Members whose lines and rows have the same lengths: what a pass says of a member then depends on nobody else."""
    found: dict[tuple[int, int], list[int]] = {}
    for number, item in enumerate(items):
        found.setdefault((padded_tokens(item.tokens), item.width), []).append(number)
    return [
        (TextShape(len(numbers), rows, tokens, width), numbers) for (tokens, width), numbers in sorted(found.items())
    ]


def groups_for_speed(items: Sequence[TextRow], rows: int, most: int, fitting: int) -> list[tuple[TextShape, list[int]]]:
    """Members of similar lengths, in as few passes as are fastest.

    Args:
        items: One for each member.
        rows: Of a member.
        most: Members there can be.
        fitting: Members times squared length that fit into a pass.
    """
    order = sorted(range(len(items)), key=lambda number: (items[number].tokens, items[number].width, number))

    @functools.cache
    def best(start: int) -> tuple[float, tuple[TextShape, ...], tuple[int, ...]]:
        """The fastest passes for those from there on: milliseconds, shapes, and where each ends."""
        if start == len(order):
            return 0.0, (), ()
        found, width = [], 0
        for end in range(start + 1, len(order) + 1):
            last = items[order[end - 1]]  # which has the most tokens of all
            width = max(width, last.width)
            shape = TextShape(padded_members(end - start, most), rows, padded_tokens(last.tokens), width)
            if end > start + 1 and shape.members * width**2 > fitting:
                break
            rest = best(end)
            found.append((_milliseconds(shape) + rest[0], (shape, *rest[1]), (end, *rest[2])))
        return min(found, key=lambda own: own[0])

    _, shapes, ends = best(0)
    starts = (0, *ends)
    return [(shape, order[start:end]) for shape, start, end in zip(shapes, starts, ends, strict=False)]


def _milliseconds(shape: TextShape) -> float:
    return LAUNCHES + shape.members * (MEMBER + TOKEN * shape.tokens + WEIGHT * shape.width**2)
