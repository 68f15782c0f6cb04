"""Forward passes without an update: evaluations, surveys, scores of candidates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn

from rota.arrays import Ids
from rota.engine._repeatable import repeatably
from rota.engine._step import at_least_float
from rota.signals import SharedMasks
from rota.tasks import Kind, Rows, RowStats, Task, repeated

RowMeasure = Callable[[Kind, Tensor, Tensor], RowStats]
"""What is to be known of rows, from what the model says of them and their labels: tensors with the rows first. Pass
the same function each time: a captured pass belongs to it."""


@dataclass(frozen=True)
class Passes:
    """Several answers to the same rows, which only dropout makes differ.

    Args:
        count: How many.
        layers: Where given, dropout is on only in the head and in this number of last layers of the encoder; earlier
            layers are computed once; the model has a method `copied`.
        at_once: How many of them go through the model together, as copies of the rows; all of them for None.
        masks: Where given, they say what is dropped in a pass, for all rows alike. Such passes cannot be captured.

    >>> Passes(count=8, layers=2)
    Passes(count=8, layers=2, at_once=None, masks=None)
    """

    count: int
    layers: int | None = None
    at_once: int | None = None
    masks: SharedMasks | None = None


class Probe(Protocol):
    """Something that looks at rows with a model.

    >>> import functools
    >>> import numpy as np
    >>> from rota.data import load_tasks
    >>> from rota.models import MultiTaskModel, SmallConv
    >>> task = load_tasks(["digits"])[0]
    >>> look: Probe = functools.partial(probe, MultiTaskModel(SmallConv(task.inputs.side), [task]).eval())
    >>> sure = lambda kind, outputs, labels: {"sure": outputs.softmax(-1).amax(-1)}
    >>> look(task, task.splits["dev"], np.arange(3), 3, sure)["sure"].shape
    torch.Size([3])
    """

    def __call__(
        self, task: Task, rows: Rows, ids: Ids, most: int, measure: RowMeasure, passes: Passes | None = None
    ) -> RowStats:
        """A measure of some rows, on the device, to be copied before the next probe.

        Args:
            task: Whose rows.
            rows: All of them.
            ids: Which.
            most: How many rows a look at these takes at most.
            measure: What is to be known.
            passes: Where given, the number of forward passes, and the measure gets [passes, rows, …].
        """


@torch.no_grad()  # not inference mode: a model may keep what it makes in its first pass
def probe(
    model: nn.Module, task: Task, rows: Rows, ids: Ids, most: int, measure: RowMeasure, passes: Passes | None = None
) -> RowStats:
    """Look at rows, one operation after the other; see `Probe`.

    >>> import numpy as np
    >>> from rota.data import load_tasks
    >>> from rota.models import MultiTaskModel, SmallConv
    >>> task = load_tasks(["digits"])[0]
    >>> model = MultiTaskModel(SmallConv(task.inputs.side), [task])
    >>> spread = lambda kind, outputs, labels: {"spread": outputs.std(0).mean(-1)}  # of eight answers
    >>> probe(model, task, task.splits["dev"], np.arange(3), 3, spread, Passes(count=8))["spread"].shape
    torch.Size([3])
    """
    batch = rows.batch(ids).to(next(model.parameters()).device)

    def measured() -> RowStats:
        outputs = in_passes(model, task.name, batch.inputs, passes)
        return measure(task.kind, at_least_float(outputs), batch.labels)

    return repeatably(measured)


def in_passes(model: Any, task: str, inputs: dict[str, Tensor], passes: Passes | None) -> Tensor:
    """One answer, or several of them as [passes, rows, …], from copies of the rows that go through it together."""
    if passes is None:
        return cast(Tensor, model(task, inputs))
    most = passes.at_once or passes.count
    outputs = []
    for done in range(0, passes.count, most):
        copies = min(most, passes.count - done)
        if passes.masks is not None:
            passes.masks.passes = range(done, done + copies)
        if passes.layers is not None:
            found = model.copied(task, inputs, copies, passes.layers)
        else:
            found = model(task, {name: repeated(tensor, copies) for name, tensor in inputs.items()})
        outputs.append(found.unflatten(0, (copies, -1)))
    return torch.cat(outputs)
