"""Dropout as a function of a seed and a place: what is kept depends on nothing else, least of all on the company."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

PITCH = 512
"""Places of a row, in the numbers of places."""
WORD, SPREAD, FIRST, SECOND = 0xFFFFFFFF, 0x9E3779B9, 0x85EBCA6B, 0xC2B2AE35  # those of MurmurHash3's last step
BITS = 24
Mixable = TypeVar("Mixable", int, Tensor)


class Dropping(NamedTuple):
    """Dropout at one point of a model.

    Args:
        seeds: One for each member, [S].
        share: Of what is dropped.

    >>> Dropping(torch.tensor([5, 6]), share=0.2).grown
    1.25
    """

    seeds: Tensor
    share: float

    @property
    def grown(self) -> float:
        """By what that grows which is kept."""
        return 1 / (1 - self.share)

    @property
    def threshold(self) -> int:
        """Of numbers of so many bits, the first that is kept."""
        return round(self.share * 2**BITS)

    def kept(self, places: Tensor) -> Tensor:
        """Whether what is at these places is kept, [S, …].

        >>> dropping = Dropping(torch.tensor([5, 6]), share=0.25)
        >>> kept = dropping.kept(torch.arange(10_000).expand(2, -1))
        >>> bool((kept.float().mean(1) - 0.75).abs().max() < 0.02), bool((kept[0] == kept[1]).all())
        (True, False)
        """
        own = self.seeds.view(-1, *[1] * (places.dim() - 1))
        return (mixed(places * SPREAD + own) >> (32 - BITS)) >= self.threshold


def mixed(numbers: Mixable) -> Mixable:
    """Numbers of 32 bits, well mixed.

    >>> mixed(torch.tensor([0, 1, 2])).tolist()
    [0, 1364076727, 821347078]
    >>> mixed(1)
    1364076727
    """
    found = numbers & WORD
    found = ((found ^ (found >> 16)) * FIRST) & WORD
    found = ((found ^ (found >> 13)) * SECOND) & WORD
    return found ^ (found >> 16)


def seeds_of(seeds: Tensor, points: int) -> Tensor:
    """From the seed of each member [S] one for each of its points, [points, S].

    >>> seeds_of(torch.tensor([5, 6]), points=3).shape
    torch.Size([3, 2])
    """
    numbers = torch.arange(1, points + 1, device=seeds.device)[:, None]
    return mixed(mixed(numbers * SPREAD) + seeds)
