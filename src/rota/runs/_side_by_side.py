"""Several runs in one process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch

from rota.engine import TorchSurroundings, why_not_stacked
from rota.plans import Plan, tasks_of
from rota.runlog import RUN, Run
from rota.runs._build import make_model
from rota.tasks import Pictures
from rota.turns import Turns

TrainingItem = TypeVar("TrainingItem")
TrainingResult = TypeVar("TrainingResult")

PLACES = 6
"""Runs in one pass on a CPU: more are not faster, because their activations leave its caches."""


def take_turns(work: Callable[[TrainingItem], TrainingResult]) -> Turns[TrainingItem, TrainingResult]:
    """Makes what does several works that train models in one process.

    Args:
        work: What is done with an item.

    >>> turns = take_turns(lambda seed: torch.manual_seed(seed).initial_seed())
    >>> [event[2] for event in turns.work_through([3, 4], places=2) if event[0] == "done"]
    [3, 4]
    """
    return Turns(work, TorchSurroundings)


def side_by_side(plan: Plan) -> int:
    """How many runs like this one a process trains at a time: several where they can be stacked.

    >>> from rota.plans import make_plan
    >>> side_by_side(make_plan({"tasks": ["digits"], "device": "cpu"})) > 1
    True
    >>> side_by_side(make_plan({"tasks": ["toytext"], "device": "cpu"}))
    1
    """
    if _on_gpu(plan) or plan.start is not None or plan.engine not in ("auto", "stack"):
        return 1
    tasks = tasks_of(plan)
    small = all(isinstance(task.inputs, Pictures) for task in tasks)  # others may be large, and slow to make
    return PLACES if small and why_not_stacked(make_model(plan, tasks)) is None else 1


def in_company(plan: Plan, folder: Path) -> Plan:
    """The plan as it is trained beside others: in a stack, unless it says otherwise or was begun otherwise. Also where
    it happens to be alone, so that its numbers are the same.

    >>> from rota.plans import make_plan
    >>> in_company(make_plan({"tasks": ["digits"], "device": "cpu"}), Path("new")).engine
    'stack'
    """
    if plan.engine != "auto" or _on_gpu(plan):
        return plan
    begun = (folder / RUN).is_file()
    return plan.model_copy(update={"engine": Run(folder).plan["engine"] if begun else "stack"})


def _on_gpu(plan: Plan) -> bool:
    return plan.device == "auto" and torch.cuda.is_available()
