"""How good is a model on each task?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rota.streams import Shard
from rota.tasks import Facts, Task
from rota.training.engine import at_least_float

Gather = Callable[[Any], list[Any]]
"""Collects one object per process, in the order of the ranks."""


def evaluate(
    model: nn.Module,
    tasks: Sequence[Task],
    split: str = "dev",
    batch_size: int = 250,
    shard: Shard = Shard(),  # noqa: B008 - immutable
    gather: Gather = lambda own: [own],
) -> dict[str, Any]:
    """Loss, metrics and score of each task, and the averages over the tasks that count.

    Every module is left in the mode in which it was found; no training data and no random number is used.

    Args:
        model: Answers `model(task, inputs)`.
        tasks: What to evaluate; those without rows in `split` are left out.
        split: Which rows.
        batch_size: Rows per forward pass.
        shard, gather: In several processes: which rows are this process's, and how results come together.

    Returns:
        {"split", "average", "loss", "tasks": {task: {"loss", "score", "metrics", "n"}}}, plain JSON; a number
        that is none (a loss that overflowed) is None.
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():  # not inference mode: a model may keep what it makes in its first pass
            results = {
                task.name: _evaluate_task(model, task, split, batch_size, shard, gather)
                for task in tasks
                if task.size(split)
            }
    finally:
        for module, training in modes:
            module.training = training
    counted = [results[task.name] for task in tasks if not task.auxiliary and task.name in results]
    return {
        "split": split,
        "average": _mean([result["score"] for result in counted]),
        "loss": _mean([result["loss"] for result in counted]),
        "tasks": results,
    }


def _evaluate_task(
    model: nn.Module, task: Task, split: str, batch_size: int, shard: Shard, gather: Gather
) -> dict[str, Any]:
    device = next(model.parameters()).device
    rows, own = task.splits[split], []
    for number, start in enumerate(range(0, len(rows), batch_size)):
        if number % shard.world == shard.rank:
            batch = rows.batch(np.arange(start, min(start + batch_size, len(rows)))).to(device)
            outputs = at_least_float(model(task.name, batch.inputs))
            facts = {"loss": task.kind.losses(outputs, batch.labels), **task.kind.facts(outputs, batch.labels)}
            own.append((number, facts))
    batches = sorted((pair for pairs in gather(own) for pair in pairs), key=lambda pair: pair[0])
    facts = _join([facts for _, facts in batches])
    loss = facts.pop("loss").double().mean().item()
    metrics = task.kind.metrics(facts)
    return {"loss": _number(loss), "score": task.kind.score(metrics), "metrics": metrics, "n": len(rows)}


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _mean(values: list[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return float(np.mean(present)) if present and len(present) == len(values) else None


def _join(parts: list[Facts]) -> dict[str, Tensor]:
    return {name: torch.cat([part[name].cpu() for part in parts]) for name in parts[0]}
