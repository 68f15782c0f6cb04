"""Forward passes as captured work."""

from __future__ import annotations

import functools

import torch
from torch import nn

from rota.arrays import Ids
from rota.engine._capturer import Captured, Capturer
from rota.engine._half_weights import HalfWeights
from rota.engine._pass import Pass
from rota.engine._probe import Passes, RowMeasure, in_passes, probe
from rota.engine._row_store import RowStore, room_on
from rota.engine._shapes import Shape
from rota.engine._step import at_least_float
from rota.tasks import Rows, RowStats, SupportsDeviceRows, Task


def captured_probes(model: nn.Module, half: bool) -> CapturedProbes:
    """Captured probes of a model on a GPU.

    Args:
        model: What answers, in the mode in which it is to answer.
        half: Whether in bf16.
    """
    device = next(model.parameters()).device
    weights = HalfWeights(model, torch.bfloat16 if half else None)
    return CapturedProbes(model, Capturer(model, device), RowStore(device, room_on(device)), weights)


class CapturedProbes:
    """Measures rows with one launch for each task, padded length, number of rows and measure; see `Probe`. Rows that
    cannot be moved to the device are measured eagerly.

    Args:
        model: What answers.
        capturer: What captures.
        store: Where rows are found.
        half: The model's weights in half precision.
    """

    def __init__(self, model: nn.Module, capturer: Capturer, store: RowStore, half: HalfWeights) -> None:
        self._model, self._capturer, self._row_store, self._half_weights = model, capturer, store, half
        self._device = next(model.parameters()).device

    def __call__(
        self, task: Task, rows: Rows, ids: Ids, most: int, measure: RowMeasure, passes: Passes | None = None
    ) -> RowStats:
        captured = self._captured(task, rows, ids, most, measure, passes)
        if captured is None:
            return probe(self._model, task, rows, ids, most, measure, passes)
        return {name: fact[: len(ids)] for name, fact in captured.replay().items()}

    def _captured(
        self, task: Task, rows: Rows, ids: Ids, most: int, measure: RowMeasure, passes: Passes | None
    ) -> Captured | None:
        if self._capturer.gave_up or not isinstance(rows, SupportsDeviceRows):
            return None
        if passes is not None and passes.masks is not None:  # a captured pass would have the same masks each time
            return None
        width = self._row_store.width([(rows, ids)])

        def make() -> Pass:
            sources = {task.name: self._row_store.source(rows, most, width)}
            return Pass(Shape((task.name,), most, width), {task.name: task.kind}, sources, self._device)

        def load(place: Pass) -> None:
            place.load([(task.name, ids, 1.0, functools.partial(rows.batch, ids))])

        def work(place: Pass) -> RowStats:
            return self._measured(place, task, measure, passes)

        return self._capturer.obtain((task.name, id(rows), most, width, measure, passes), make, load, work, work)

    @torch.no_grad()
    def _measured(self, rows: Pass, task: Task, measure: RowMeasure, passes: Passes | None) -> RowStats:
        with self._half_weights.used(), self._half_weights.autocast():
            inputs, (batch,) = rows.batches()
            outputs = in_passes(self._model, task.name, inputs, passes)
        return measure(task.kind, at_least_float(outputs), batch.labels)
