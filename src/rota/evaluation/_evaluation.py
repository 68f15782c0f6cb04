"""How good is a model on each task?"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rota.arrays import Ids
from rota.draws import Shard
from rota.engine import Passes, Probe, RowMeasure, wait_here
from rota.engine import probe as eager_probe
from rota.evaluation._said import said_about
from rota.models import LanguageModel, evaluating
from rota.tasks import IGNORED, Kind, Rows, RowStats, Task, sample_rows

Gather = Callable[[Any], list[Any]]
"""Collects one object per process, in the order of the ranks."""


def evaluate(
    model: nn.Module,
    tasks: Sequence[Task],
    split: str = "dev",
    batch_size: int | None = None,
    shard: Shard = Shard(),  # noqa: B008 - immutable
    gather: Gather = lambda own: [own],
    probe: Probe | None = None,
) -> dict[str, Any]:
    """Loss, metrics and score of each task, and the averages over the tasks that count.

    Every module is left in the mode in which it was found; no training data and no random number is used.

    Args:
        model: Answers `model(task, inputs)`.
        tasks: What to evaluate; those without rows in `split` are left out.
        split: Which rows.
        batch_size: Rows per forward pass; by default as many as suit the device (`usual_rows`).
        shard, gather: In several processes: which rows are this process's, and how results come together.
        probe: How rows go through the model; by default one operation after the other.

    Returns:
        {"split", "average", "loss", "tasks": {task: {"loss", "score", "metrics", "n"}}}, plain JSON; a number
        that is none (a loss that overflowed) is None. Of a language model's tasks also "tokens", over which "loss"
        is the mean.

    >>> from rota.tasks import Task
    >>> class Guess(nn.Linear):
    ...     def forward(self, task, inputs):
    ...         return 0 * super().forward(inputs["x"]) + torch.tensor([0.0, 1.0])
    >>> rows = torch.zeros(8, 3), torch.arange(8) % 2
    >>> evaluate(Guess(3, 2), [Task.from_dataset("half", rows, dev=rows)])["tasks"]["half"]["metrics"]
    {'accuracy': 0.5}
    """
    probe = probe or functools.partial(eager_probe, model)
    with evaluating(model):
        results = {
            task.name: _evaluate_task(
                model, probe, task, split, batch_size or usual_rows(model, task.splits[split]), shard, gather
            )
            for task in tasks
            if task.size(split)
        }
    counted = [results[task.name] for task in tasks if task.counted and task.name in results]
    return {
        "split": split,
        "average": _mean([result["score"] for result in counted]),
        "loss": _mean([result["loss"] for result in counted]),
        "tasks": results,
    }


def _evaluate_task(
    model: nn.Module, probe: Probe, task: Task, split: str, batch_size: int, shard: Shard, gather: Gather
) -> dict[str, Any]:
    rows = task.splits[split]
    row_stats = collect_row_stats(probe, task, rows, batch_size, shard, gather)
    losses, weights = row_stats.pop("loss").double(), row_stats.pop("weight", None)
    mean = losses.mean() if weights is None else (losses * weights).sum() / weights.sum().clamp(min=1)
    row_stats |= said_about(model, task, rows, batch_size, shard, gather)
    metrics = task.kind.metrics(row_stats, rows)
    found = {"loss": _number(mean.item()), "score": task.kind.score(metrics), "metrics": metrics, "n": len(rows)}
    return found if weights is None else {**found, "tokens": int(weights.sum())}


def collect_row_stats(
    probe: Probe,
    task: Task,
    rows: Rows,
    batch_size: int,
    shard: Shard = Shard(),  # noqa: B008 - immutable
    gather: Gather = lambda own: [own],
    measure: RowMeasure | None = None,
    passes: Passes | None = None,
) -> RowStats:
    """Facts about all rows, in their order: by default those of the task's kind, and the `loss` of each.

    >>> import functools
    >>> from rota.data import load_tasks
    >>> from rota.engine import probe
    >>> from rota.models import MultiTaskModel, SmallConv
    >>> task = evaluation_tasks(load_tasks(["digits"]), rows=10)[0]
    >>> model = MultiTaskModel(SmallConv(task.inputs.side), [task]).eval()
    >>> found = collect_row_stats(functools.partial(probe, model), task, task.splits["dev"], batch_size=4)
    >>> {name: len(values) for name, values in found.items()}
    {'loss': 10, 'predicted': 10, 'label': 10, 'probabilities': 10}
    """
    order, own, most = by_length(rows), [], max(1, min(batch_size, len(rows)))
    for number, counts in shard.passes(math.ceil(len(rows) / most)):
        found = probe(task, rows, order[number * most : (number + 1) * most], most, measure or _row_stats, passes)
        if counts:
            own.append(
                (number, {name: tensor.to("cpu", non_blocking=True, copy=True) for name, tensor in found.items()})
            )
    wait_here()  # once: all batches are on their way
    batches = sorted((pair for pairs in gather(own) for pair in pairs), key=lambda pair: pair[0])
    places = torch.from_numpy(np.argsort(order))
    return {name: joined[places] for name, joined in _join([row_stats for _, row_stats in batches]).items()}


def usual_rows(model: nn.Module, rows: Rows) -> int:
    """How many rows go through the model at once: on a CPU few texts, whose activations would leave its caches.

    >>> from rota.tasks import TensorRows
    >>> usual_rows(nn.Linear(3, 2), TensorRows({"x": torch.zeros(8, 3)}, torch.zeros(8)))
    250
    """
    on_gpu = next(model.parameters()).is_cuda
    if isinstance(model, LanguageModel):
        return 32 if on_gpu else 8  # each place has a score for every token
    return 32 if rows.lengths() is not None and not on_gpu else 250


def _row_stats(kind: Kind, outputs: Tensor, labels: Tensor) -> RowStats:
    weights = kind.weights(labels)
    counted = {} if weights is None else {"weight": weights}
    return {"loss": kind.losses(outputs, labels), **counted, **kind.row_stats(outputs, labels)}


def by_length(rows: Rows) -> Ids:
    """Longest first: little padding, and a batch that does not fit into memory fails at once.

    >>> from rota.data import load_tasks
    >>> rows = load_tasks(["toytext"])[0].splits["dev"]
    >>> rows.lengths()[by_length(rows)][:3], rows.lengths()[by_length(rows)][-3:]
    (array([6, 6, 6]), array([5, 5, 5]))
    """
    lengths = rows.lengths()
    return np.arange(len(rows)) if lengths is None else np.argsort(-lengths, kind="stable")


def evaluation_tasks(tasks: Sequence[Task], rows: int | None) -> Sequence[Task]:
    """The same tasks with at most this number of dev and test rows each; None for all.

    >>> from rota.data import load_tasks
    >>> task = load_tasks(["digits"])[0]
    >>> [few] = evaluation_tasks([task], rows=20)
    >>> few.size("dev"), few.size("train") == task.size("train")
    (20, True)
    """
    if rows is None:
        return tasks
    return [
        replace(
            task,
            splits={
                split: own if split == "train" or len(own) <= rows else sample_rows(own, rows)
                for split, own in task.splits.items()
            },
        )
        for task in tasks
    ]


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _mean(values: list[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return float(np.mean(present)) if present and len(present) == len(values) else None


def _join(parts: list[RowStats]) -> dict[str, Tensor]:
    return {name: torch.cat(_equally_wide([part[name] for part in parts])) for name in parts[0]}


def _equally_wide(tensors: list[Tensor]) -> list[Tensor]:
    widest = max(tensor.shape[-1] for tensor in tensors)
    if tensors[0].dim() == 1 or all(tensor.shape[-1] == widest for tensor in tensors):
        return tensors
    return [F.pad(tensor, (0, widest - tensor.shape[-1]), value=IGNORED) for tensor in tensors]
