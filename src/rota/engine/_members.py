"""What a training has for itself among others in its process."""

from __future__ import annotations

import torch

from rota.turns import surroundings


class TorchSurroundings:
    """The generator of a member's dropout: it finds that of the process as it left it, although other members have
    drawn from it since.

    >>> own, other = TorchSurroundings(), TorchSurroundings()
    >>> own.enter()
    >>> _ = torch.manual_seed(0)
    >>> own.leave(); other.enter(); _ = torch.rand(3); other.leave(); own.enter()
    >>> bool(torch.rand(1) == torch.rand(1, generator=torch.Generator().manual_seed(0)))
    True
    """

    def __init__(self) -> None:
        self.generator = torch.Generator()

    def enter(self) -> None:
        torch.default_generator.set_state(self.generator.get_state())

    def leave(self) -> None:
        self.generator.set_state(torch.default_generator.get_state())


def own_generator() -> torch.Generator:
    """The generator of the dropout of the run that asks.

    >>> own_generator() is torch.default_generator  # nobody else trains in this process
    True
    """
    own = surroundings()
    return own.generator if isinstance(own, TorchSurroundings) else torch.default_generator
