"""What a training has for itself among others in its process."""

from __future__ import annotations

import torch

from rota.engine._repeatable import choose_kernels, kernel_choice
from rota.turns import give_way, surroundings

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
        self._enter_gpu()

    def leave(self) -> None:
        self.generator.set_state(torch.default_generator.get_state())
        self._kernels = kernel_choice()
        if torch.cuda.is_initialized():
            self._leave_gpu()

    def _enter_gpu(self) -> None:
        if self._on_gpu is not None:
            _default_on_gpu().set_state(self._on_gpu.get_state())

    def _leave_gpu(self) -> None:
        self.on_gpu.set_state(_default_on_gpu().get_state())

    @property
    def on_gpu(self) -> torch.Generator:
        """That of the GPU, as it was left."""
        if self._on_gpu is None:
            self._on_gpu = torch.Generator("cuda")
        return self._on_gpu


class StreamSurroundings(TorchSurroundings):
    """A stream of the GPU as well, so that what a member has captured runs beside what others have. What is captured
    draws from the generator's state that was there; so each member's state is put into its place, not copied there.

    >>> from rota.turns import Turns
    >>> surroundings = StreamSurroundings if torch.cuda.is_available() else TorchSurroundings
    >>> turns = Turns(lambda seed: torch.manual_seed(seed).initial_seed(), surroundings)
    >>> [event[2] for event in turns.work_through([3, 4], places=2) if event[0] == "done"]
    [3, 4]
    """

    def __init__(self) -> None:
        super().__init__()
        self._stream = torch.cuda.Stream()
        self._on_gpu = torch.Generator("cuda")

    def _enter_gpu(self) -> None:
        torch.cuda.set_stream(self._stream)
        _default_on_gpu().graphsafe_set_state(self.on_gpu)

    def _leave_gpu(self) -> None:
        self._on_gpu = _default_on_gpu().graphsafe_get_state()


def wait_here() -> None:
    """Until the GPU has done what it was asked to do so far; other runs of this process go on in the meantime.

    >>> wait_here()  # on a CPU everything is done at once
    """
    if torch.cuda.is_available():
        arrived = torch.cuda.Event()
        arrived.record()
        wait_for(arrived)


def wait_for(event: torch.cuda.Event) -> None:
    """The same for an event."""
    while not event.query():
        if not give_way():
            event.synchronize()


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
