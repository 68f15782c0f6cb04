"""Several runs in one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import torch
from torch import nn

from rota.engine import BYTES_IN_STACK, StreamSurroundings, TorchSurroundings, why_not_stacked
from rota.plans import Plan, tasks_of
from rota.runlog import RUN, Run
from rota.runs._build import make_model
from rota.tasks import Pictures, Task
from rota.turns import Turns, places

TrainingItem = TypeVar("TrainingItem")
TrainingResult = TypeVar("TrainingResult")

PLACES = 6
"""Runs in one pass on a CPU: more are not faster, because their activations leave its caches."""
PLACES_ON_GPU = 32
"""Runs in one pass on a GPU, at most: more are hardly faster."""
STREAMS = 4
"""Runs of one process whose captured steps run beside each other on a GPU: more are hardly faster."""
SHARE = 0.6
"""Of a GPU's memory that all runs may take."""
BYTES = 120
"""Of a number of a model outside of a stack, as seen: most of all the captured evaluations of each run."""


class SideBySide(NamedTuple):
    """How the runs of a process go on together.

    Args:
        places: How many at a time.
        streams: Whether each on a stream of a GPU of its own, and not in a stack.
    """

    places: int
    streams: bool = False


def take_turns(
    work: Callable[[TrainingItem], TrainingResult], streams: bool = False
) -> Turns[TrainingItem, TrainingResult]:
    """Makes what does several works that train models in one process.

    Args:
        work: What is done with an item.
        streams: Whether each on a stream of a GPU of its own.

    >>> turns = take_turns(lambda seed: torch.manual_seed(seed).initial_seed())
    >>> [event[2] for event in turns.work_through([3, 4], places=2) if event[0] == "done"]
    [3, 4]
    """
    return Turns(work, StreamSurroundings if streams else TorchSurroundings)


def side_by_side(plan: Plan, processes: int = 1) -> SideBySide:
    """How a process trains several runs like this one at a time: in a stack where that is faster; on a GPU those that
    cannot be stacked on streams.

    Args:
        plan: Of one of them.
        processes: That share a GPU.

    >>> from rota.plans import make_plan
    >>> side_by_side(make_plan({"tasks": ["digits"], "device": "cpu"})).places > 1
    True
    >>> side_by_side(make_plan({"tasks": ["toytext"], "device": "cpu"}))
    SideBySide(places=1, streams=False)
    """
    if plan.start is not None:
        return SideBySide(1)
    tasks, gpu = tasks_of(plan), _on_gpu(plan)
    small, asked = _small(tasks), plan.engine in ("auto", "stack")
    stacks = asked and (not small if gpu else small or plan.engine == "stack")
    streams = gpu and plan.engine != "eager"
    if not (stacks or streams):
        return SideBySide(1)
    model = make_model(plan, tasks)
    stacks = stacks and why_not_stacked(model) is None
    if not gpu:
        return SideBySide(PLACES if stacks else 1)
    if stacks:
        return SideBySide(_fitting(model, processes, PLACES_ON_GPU, BYTES_IN_STACK))
    return SideBySide(_fitting(model, processes, STREAMS, BYTES), streams)


def in_company(plan: Plan, folder: Path) -> Plan:
    """The plan as it is trained beside others: in a stack where that is faster, unless it says otherwise or was begun
    otherwise. On a CPU also where it happens to be alone, so that its numbers are the same.

    >>> from rota.plans import make_plan
    >>> in_company(make_plan({"tasks": ["digits"], "device": "cpu"}), Path("new")).engine
    'stack'
    """
    if plan.engine != "auto":
        return plan
    if (folder / RUN).is_file():
        return plan.model_copy(update={"engine": Run(folder).plan["engine"]})
    stacked = places() > 1 if _on_gpu(plan) else _small(tasks_of(plan))
    return plan.model_copy(update={"engine": "stack"}) if stacked else plan


def _small(tasks: Sequence[Task]) -> bool:
    """Whether they are about pictures: models of texts may be large, and slow to make."""
    return all(isinstance(task.inputs, Pictures) for task in tasks)


def _fitting(model: nn.Module, processes: int, most: int, each: int) -> int:
    """Runs of a model for which a GPU has memory, at most as many as are faster than fewer."""
    size = sum(parameter.numel() for parameter in model.parameters())
    room = SHARE * torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory
    return max(1, min(most, int(room / processes / (size * each))))


def _on_gpu(plan: Plan) -> bool:
    return plan.device == "auto" and torch.cuda.is_available()
