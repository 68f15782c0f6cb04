"""Capture the work of a model, keep it, and say why where it cannot be captured."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from rota.engine._blocks import as_if_capturing, compile_blocks, repeated_blocks, uncompile_blocks
from rota.engine._capture import CudaGraphs, Graphs, Result, said, unchanged
from rota.engine._pass import Pass
from rota.engine._repeatable import repeatably
from rota.errors import RotaError

MOST = 256
"""Captured pieces of work; a limit, because a user's rows may come in ever new shapes."""


@dataclass
class Captured:
    """Captured work and the rows that it is about.

    Args:
        rows: To be loaded before each replay.
        replay: Does the work.
        again: Of a step: the forward pass after it, once one was asked for.
    """

    rows: Pass
    replay: Callable[[], Any]
    again: Callable[[], Tensor] | None = None


class Capturer:
    """Captures what a model does.

    Args:
        model: The model.
        device: Where it is.
        compiled: Whether its layers are to be compiled before.
    """

    def __init__(self, model: nn.Module, device: torch.device, compiled: bool = False) -> None:
        self._model, self._device = model, device
        self._graphs: Graphs = CudaGraphs(device)
        self._blocks = repeated_blocks(model) if compiled else []
        compile_blocks(self._blocks)
        self.kept: dict[object, Captured] = {}
        self.captures, self.seconds = 0, 0.0
        self.reason: str | None = None
        self.gave_up = False
        self._tell: Callable[[str], None] = lambda reason: None

    @property
    def compiled(self) -> bool:
        return bool(self._blocks)

    def obtain(
        self,
        key: object,
        make: Callable[[], Pass],
        load: Callable[[Pass], None],
        work: Callable[[Pass], Result],
        rehearsal: Callable[[Pass], object],
    ) -> Captured | None:
        """The kept work of this key with its rows loaded, captured now if it is new; None: do it eagerly.

        Args:
            key: Same key, same work.
            make: Makes the places for its rows.
            load: Puts rows there.
            work, rehearsal: See `capture`.
        """
        if key in self.kept:
            load(self.kept[key].rows)
            return self.kept[key]
        rows = make()
        load(rows)
        replay = self.capture(functools.partial(work, rows), functools.partial(rehearsal, rows))
        if replay is not None:
            self.kept[key] = Captured(rows, replay)
        return self.kept.get(key)

    def capture(self, work: Callable[[], Result], rehearsal: Callable[[], object]) -> Callable[[], Result] | None:
        """What repeats the work; None where it has to be done eagerly, this time or (`gave_up`) from now on."""
        began = time.perf_counter()
        try:
            if self.captures >= MOST:
                raise RotaError(f"batches have more than {MOST} shapes")
            with unchanged(self._model, self._device):
                replay = self._graphs.capture(work, lambda: self._rehearse(rehearsal))
        except Exception as error:
            self._model.zero_grad(set_to_none=True)
            if self._blocks:  # the next work is captured without the compiler
                self.explain(f"the layers are not compiled: {said(error)}")
                self.close()
                self._graphs = CudaGraphs(self._device)  # the memory of the failed one cannot be used any more
            else:
                self.give_up(f"steps are not captured: {said(error)}")
            return None
        self.captures += 1
        self.seconds += time.perf_counter() - began
        return replay

    def give_up(self, reason: str) -> None:
        """Nothing is captured from now on, and what was is forgotten."""
        self.gave_up = True
        self.explain(reason)
        self.kept.clear()
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
            torch.cuda.empty_cache()

    def explain(self, reason: str) -> None:
        """Say, once, why something is not captured."""
        if reason != self.reason:
            self.reason = reason
            self._tell(reason)

    def tell_to(self, tell: Callable[[str], None]) -> None:
        """From now on reasons are passed to this function, including the present one."""
        self._tell = tell
        if self.reason is not None:
            tell(self.reason)

    def close(self) -> None:
        """Leave the model as any other."""
        uncompile_blocks(self._blocks)
        self._blocks = []

    def _rehearse(self, rehearsal: Callable[[], object]) -> None:
        with as_if_capturing() if self._blocks else contextlib.nullcontext():
            repeatably(rehearsal)
