"""Capture work on a GPU once, replay it with one launch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

import torch
from torch import nn

Result = TypeVar("Result")


class Graphs(Protocol):
    """Turns work into something that repeats it."""

    def capture(self, work: Callable[[], Result], rehearsal: Callable[[], object]) -> Callable[[], Result]:
        """What is returned repeats `work` on the same places in memory; what it answers with may be overwritten by the
        next captured work that runs. `rehearsal` runs before, outside of the capture: it loads what `work` needs."""


class CudaGraphs:
    """CUDA graphs that share one pool of memory: only one of them runs at a time.

    Args:
        device: The GPU.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pool = torch.cuda.graph_pool_handle()
        self._stream = torch.cuda.Stream(device)

    def capture(self, work: Callable[[], Result], rehearsal: Callable[[], object]) -> Callable[[], Result]:
        graph = torch.cuda.CUDAGraph()
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._stream):  # whatever happens inside, the stream is left again
            rehearsal()
            with torch.cuda.graph(graph, self._pool, self._stream):
                result = work()
        torch.cuda.current_stream(self._device).wait_stream(self._stream)

        def replay() -> Result:
            graph.replay()
            return result

        return replay


@contextmanager
def unchanged(model: nn.Module, device: torch.device) -> Iterator[None]:
    """What happens inside leaves no trace in the model's buffers and in the generator of the dropout, even if a
    capture fails."""
    cuda = device.type == "cuda"
    generator = torch.cuda.default_generators[device.index or 0] if cuda else torch.default_generator
    state, buffers = generator.get_state(), [(buffer, buffer.clone()) for buffer in model.buffers()]
    try:
        yield
        generator.set_state(state)
    except BaseException:
        if cuda:  # the generator is still inside of the capture: exchange what it is made of
            fresh = torch.Generator(device)
            fresh.set_state(state)
            generator.graphsafe_set_state(fresh)
        else:
            generator.set_state(state)
        raise
    finally:
        with torch.no_grad():
            for buffer, copy in buffers:
                buffer.copy_(copy)


def said(error: Exception) -> str:
    """What went wrong, in one line."""
    if isinstance(error, torch.OutOfMemoryError):
        return "the GPU has too little memory"
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200]
