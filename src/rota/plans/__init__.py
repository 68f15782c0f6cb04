"""What a run is asked for: one list of fields, for YAML files, the command line and programs alike."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rota.plans._plan import MERGED, Plan, TaskChanges, make_plan, merge_fields, refuse_two_lengths

if TYPE_CHECKING:
    from rota.plans._candidates import candidates_of, tasks_alike
    from rota.plans._plan_tasks import reading_of, tasks_of

__all__ = [
    "MERGED",
    "Plan",
    "TaskChanges",
    "candidates_of",
    "make_plan",
    "merge_fields",
    "reading_of",
    "refuse_two_lengths",
    "tasks_alike",
    "tasks_of",
]

_LATE = {
    "candidates_of": "_candidates",
    "reading_of": "_plan_tasks",
    "tasks_alike": "_candidates",
    "tasks_of": "_plan_tasks",
}
"""Making a plan needs no torch; reading its tasks does."""


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(import_module(f"rota.plans.{_LATE[name]}"), name)
    raise AttributeError(f"module 'rota.plans' has no attribute '{name}'")
