"""The surroundings of a run: processes, device, threads, generators."""

from __future__ import annotations

import atexit
import contextlib
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.state import AcceleratorState, GradientState, PartialState
from accelerate.utils import gather_object
from torch import nn

from rota.draws import Shard
from rota.engine import repeatable
from rota.errors import RotaError
from rota.seeds import integer
from rota.settings import Settings
from rota.training._resolve_sharding import enable_sharding

SMALL = 2_000_000
"""Parameters below which a second CPU thread only costs."""


class DistributedContext:
    """Who else trains, where, and with which generators.

    Args:
        settings: Of the run.
        accelerator: The user's own, which is taken as it is.
    """

    def __init__(self, settings: Settings, accelerator: Accelerator | None = None) -> None:
        if settings.precision == "fp16" and not torch.accelerator.is_available():
            raise RotaError("fp16 expects a GPU. Found none. Use Settings(precision='bf16'), or 'no'.")
        self._before = {state: dict(state._shared_state) for state in (AcceleratorState, PartialState, GradientState)}
        self.accelerator = accelerator or self._own(settings)
        if settings.shard:
            enable_sharding(self.accelerator)
        self.shard = Shard(self.accelerator.process_index, self.accelerator.num_processes, together=settings.shard)
        self.writes: bool = self.accelerator.is_main_process
        if self.shard.world > 1:
            atexit.register(_leave_the_group)

    def _own(self, settings: Settings) -> Accelerator:
        # An earlier run in this process may have had another precision or device.
        AcceleratorState._reset_state(reset_partial_state=not torch.distributed.is_initialized())
        return Accelerator(
            cpu=settings.device == "cpu" or not torch.accelerator.is_available(),
            mixed_precision=settings.precision,
            # A step trains one task; the heads of the others have no gradient and are left alone.
            kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)],
        )

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        """The user's accelerators share one state, which is as it was; accelerate has no public way to do so."""
        for state, before in self._before.items():
            if before:
                state._shared_state.clear()
                state._shared_state.update(before)

    def gather(self, own: Any) -> list[Any]:
        """One object per process, in the order of the ranks."""
        return gather_object([own]) if self.shard.world > 1 else [own]

    def wait(self) -> None:
        self.accelerator.wait_for_everyone()

    def seed(self, seed: int, *resumed: int) -> None:
        """Start the generator of the dropout, another one in each process, and at each step from which a run goes on
        with other generators than it had."""
        torch.manual_seed(integer(seed, "dropout", self.shard.rank, *resumed))

    def generators(self) -> list[str]:
        """State of the dropout's generator in each process."""
        cuda = self.accelerator.device.type == "cuda"
        state = torch.cuda.get_rng_state(self.accelerator.device) if cuda else torch.get_rng_state()
        return self.gather(bytes(state.tolist()).hex())

    def load_generators(self, states: list[str]) -> None:
        state = torch.tensor(list(bytes.fromhex(states[self.shard.rank])), dtype=torch.uint8)
        if self.accelerator.device.type == "cuda":
            torch.cuda.set_rng_state(state, self.accelerator.device)
        else:
            torch.set_rng_state(state)


def _leave_the_group() -> None:
    """Part from the other processes before Python ends: a thread of theirs that asked for its lock then would abort it.
    The threads end with the last one who holds the group, which is a wrapped model as long as nobody collects it."""
    gc.collect()
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    gc.collect()


@contextmanager
def surroundings(threads: int, gpu: bool) -> Iterator[None]:
    """So many CPU threads, and kernels that repeat to the bit; afterwards all is as it was."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.random.fork_rng(), repeatable() if gpu else contextlib.nullcontext():
            yield
    finally:
        torch.set_num_threads(before)


def threads_for(model: nn.Module, settings: Settings) -> int:
    """CPU threads of a run. Part of its settings, because one and two threads give different weights."""
    if settings.threads is not None:
        return settings.threads
    size = sum(parameter.numel() for parameter in model.parameters())
    return 1 if size < SMALL else torch.get_num_threads()
