"""What a training has for itself among others in its process."""

from __future__ import annotations

import torch

from rota.engine._repeatable import choose_kernels, kernel_choice
from rota.turns import surroundings

CPU = torch.device("cpu")


class TorchSurroundings:
    """The generators of a member's dropout: it finds those of the process as it left them, although other members have
    drawn from them since. So it does with what is asked of kernels.

    >>> own, other = TorchSurroundings(), TorchSurroundings()
    >>> own.enter()
    >>> _ = torch.manual_seed(0)
    >>> own.leave(); other.enter(); _ = torch.rand(3); other.leave(); own.enter()
    >>> bool(torch.rand(1) == torch.rand(1, generator=torch.Generator().manual_seed(0)))
    True
    """

    def __init__(self) -> None:
        self.generator = torch.Generator()
        self._on_gpu: torch.Generator | None = None
        self._kernels = kernel_choice()

    def enter(self) -> None:
        torch.default_generator.set_state(self.generator.get_state())
        if kernel_choice() != self._kernels:
            choose_kernels(self._kernels)
        if self._on_gpu is not None:
            _default_on_gpu().set_state(self._on_gpu.get_state())

    def leave(self) -> None:
        self.generator.set_state(torch.default_generator.get_state())
        self._kernels = kernel_choice()
        if torch.cuda.is_initialized():
            self.on_gpu.set_state(_default_on_gpu().get_state())

    @property
    def on_gpu(self) -> torch.Generator:
        """That of the GPU, as it was left."""
        if self._on_gpu is None:
            self._on_gpu = torch.Generator("cuda")
        return self._on_gpu


def own_generator(device: torch.device = CPU) -> torch.Generator:
    """The generator of the dropout of the run that asks.

    >>> own_generator() is torch.default_generator  # nobody else trains in this process
    True
    """
    own, cuda = surroundings(), device.type == "cuda"
    if isinstance(own, TorchSurroundings):
        return own.on_gpu if cuda else own.generator
    return _default_on_gpu() if cuda else torch.default_generator


def _default_on_gpu() -> torch.Generator:
    found: torch.Generator = torch.cuda.default_generators[torch.cuda.current_device()]
    return found
