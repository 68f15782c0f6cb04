"""A paper's name, and the composition of policy, stream and signal behind it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rota.methods._autosem import ratio_found
from rota.methods._comparison import BASELINES, COMPARISON, SINGLE, Cell, Comparison, make_comparison
from rota.methods._equal_cost import equal_cost
from rota.methods._grid import Event, run_comparison, steps_done
from rota.methods._method import Given, Method
from rota.methods._plan import Plan, make_plan, merge_fields
from rota.methods._selection import FLOOR, Selection, select_from
from rota.methods._table import METHODS

if TYPE_CHECKING:
    from rota.methods._adapt import Adaptation, Adapting
    from rota.methods._candidates import candidates_of, tasks_alike
    from rota.methods._ensemble import Ensemble
    from rota.methods._inner import InnerRuns
    from rota.methods._ratio import find_ratio
    from rota.methods._run import run_plan
    from rota.methods._tasks import tasks_of
    from rota.methods._trained import Trained

__all__ = [
    "BASELINES",
    "COMPARISON",
    "FLOOR",
    "METHODS",
    "SINGLE",
    "Adaptation",
    "Adapting",
    "Cell",
    "Comparison",
    "Ensemble",
    "Event",
    "Given",
    "InnerRuns",
    "Method",
    "Plan",
    "Selection",
    "Trained",
    "candidates_of",
    "equal_cost",
    "find_ratio",
    "make_comparison",
    "make_plan",
    "merge_fields",
    "ratio_found",
    "run_comparison",
    "run_plan",
    "select_from",
    "steps_done",
    "tasks_alike",
    "tasks_of",
]

_LATE = {
    "_adapt": ("Adaptation", "Adapting"),
    "_candidates": ("candidates_of", "tasks_alike"),
    "_ensemble": ("Ensemble",),
    "_inner": ("InnerRuns",),
    "_ratio": ("find_ratio",),
    "_run": ("run_plan",),
    "_tasks": ("tasks_of",),
    "_trained": ("Trained",),
}
"""Naming a method needs no torch; running one does."""


def __getattr__(name: str) -> Any:
    for module, names in _LATE.items():
        if name in names:
            return getattr(import_module(f"rota.methods.{module}"), name)
    raise AttributeError(f"module 'rota.methods' has no attribute '{name}'")
