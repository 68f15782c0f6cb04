"""Forward passes as captured work."""

from __future__ import annotations

import functools

import torch
from torch import nn

from rota.tasks import Facts, Ids, Rows, Shelved, Task
from rota.training.engine._capturer import Captured, Capturer
from rota.training.engine._look import Measure, Passes, in_passes, look
from rota.training.engine._low import LowCopies
from rota.training.engine._outcome import at_least_float
from rota.training.engine._pass import Pass
from rota.training.engine._shapes import Shape
from rota.training.engine._supply import Supply, room_on


def captured_looks(model: nn.Module, half: bool) -> CapturedLooks:
    """Captured looks with a model on a GPU.

    Args:
        model: What looks, in the mode in which it is to look.
        half: Whether in bf16.
    """
    device = next(model.parameters()).device
    low = LowCopies(model, torch.bfloat16 if half else None)
    return CapturedLooks(model, Capturer(model, device), Supply(device, room_on(device)), low, device)


class CapturedLooks:
    """Looks at rows with one launch for each task, padded length, number of rows and measure; see `Look`. Rows that
    cannot be moved to the device are looked at eagerly.

    Args:
        model: What looks.
        capturer: What captures.
        supply: Where rows are found.
        low: The model's weights in half precision.
        device: Where all of it is.
    """

    def __init__(
        self, model: nn.Module, capturer: Capturer, supply: Supply, low: LowCopies, device: torch.device
    ) -> None:
        self._model, self._capturer, self._supply, self._low, self._device = model, capturer, supply, low, device

    def __call__(
        self, task: Task, rows: Rows, ids: Ids, most: int, measure: Measure, passes: Passes | None = None
    ) -> Facts:
        captured = self._captured(task, rows, ids, most, measure, passes)
        if captured is None:
            return look(self._model, task, rows, ids, most, measure, passes)
        return {name: fact[: len(ids)] for name, fact in captured.replay().items()}

    def _captured(
        self, task: Task, rows: Rows, ids: Ids, most: int, measure: Measure, passes: Passes | None
    ) -> Captured | None:
        if self._capturer.gave_up or not isinstance(rows, Shelved):
            return None
        width = self._supply.width([(rows, ids)])

        def make() -> Pass:
            sources = {task.name: self._supply.source(rows, most, width)}
            return Pass(Shape((task.name,), most, width), {task.name: task.kind}, sources, self._device)

        def load(place: Pass) -> None:
            place.load([(task.name, ids, 1.0, functools.partial(rows.batch, ids))])

        def work(place: Pass) -> Facts:
            return self._measured(place, task, measure, passes)

        return self._capturer.obtain((task.name, id(rows), most, width, measure, passes), make, load, work, work)

    @torch.no_grad()
    def _measured(self, rows: Pass, task: Task, measure: Measure, passes: Passes | None) -> Facts:
        with self._low.used(), self._low.autocast():
            inputs, (batch,) = rows.batches()
            outputs = in_passes(self._model, task.name, inputs, passes)
        return measure(task.kind, at_least_float(outputs), batch.labels)
