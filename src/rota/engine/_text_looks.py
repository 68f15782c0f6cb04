"""What the members of a stack of text encoders say of rows, all of them in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from rota.engine._text_groups import padded_members, padded_tokens
from rota.engine._text_pass import TextRow, TextShape
from rota.models import StackedTexts

SHARE = 0.1
"""Of a GPU's memory that what a pass remembers of its tokens may take."""


@dataclass(frozen=True)
class TextLook:
    """What one member is asked.

    Args:
        row: Who it is, and which rows it is asked about: `copies` times the same, each filled up to `most`.
        most: Rows in a pass.
        copies: Of each row.
        drops: Whether with dropout.
    """

    row: TextRow
    most: int
    copies: int
    drops: bool


class TextAnswers(NamedTuple):
    """What a member says of its rows, [copies, most, C], and their labels, [most]."""

    outputs: Tensor
    labels: Tensor


def fitting_tokens(device: torch.device, texts: StackedTexts) -> int | None:
    """Tokens that fit into a pass without gradients, of a GPU's memory and of what kernels can count; None where nobody
    counts."""
    if device.type != "cuda":
        return None
    room = int(SHARE * torch.cuda.get_device_properties(device).total_memory)
    return min(room // (4 * (texts.inner + 4 * texts.width)), (2**31 - 1) // (3 * texts.width))


def groups_of_looks(
    items: Sequence[TextLook], seats: int, captured: bool, fitting: int | None
) -> list[tuple[TextShape, bool, list[int]]]:
    """Members that are asked in one pass, whether with dropout, and its shape.

    Args:
        items: One for each member.
        seats: Members there can be.
        captured: Whether passes are captured, so that few shapes are better; elsewhere what a pass says of a member
            depends on nobody else.
        fitting: Tokens that fit into a pass.
    """
    alike: dict[tuple[int, int, int, bool], list[int]] = {}
    for number, item in enumerate(items):
        key = item.most * item.copies, padded_tokens(item.row.tokens), item.row.width, item.drops
        alike.setdefault(key, []).append(number)
    found = []
    for (rows, tokens, width, drops), numbers in sorted(alike.items()):
        most = len(numbers) if fitting is None else max(1, fitting // tokens)
        if captured and seats <= most and 2 * len(numbers) > seats:
            found.append((TextShape(seats, rows, tokens, width, whole=True), drops, numbers))
            continue
        for start in range(0, len(numbers), most):
            own = numbers[start : start + most]
            members = padded_members(len(own), min(seats, most)) if captured else len(own)
            found.append((TextShape(members, rows, tokens, width), drops, own))
    return found
