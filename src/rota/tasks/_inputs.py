"""What rows look like to an encoder."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pictures:
    """Grey pictures: `image` [N, 1, side, side]."""

    side: int


@dataclass(frozen=True)
class Tokens:
    """Texts as numbers: `tokens` [N, L], 0 is padding; [N, C, L] where there are choices."""

    vocabulary: int
    longest: int


Inputs = Pictures | Tokens
