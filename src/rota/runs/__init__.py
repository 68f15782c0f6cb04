"""From a plan to a finished run folder, or to what it would cost."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rota.runs._forecast import Forecast, TaskForecast, forecast
    from rota.runs._other_tasks import plan_of_checkpoint, with_other_tasks
    from rota.runs._rough_cost import Missing, RoughCost, missing_of, operations_per_second, rough_cost
    from rota.runs._run_plan import run_plan
    from rota.runs._side_by_side import in_company, side_by_side, take_turns

__all__ = [
    "Forecast",
    "Missing",
    "RoughCost",
    "TaskForecast",
    "forecast",
    "in_company",
    "missing_of",
    "operations_per_second",
    "plan_of_checkpoint",
    "rough_cost",
    "run_plan",
    "side_by_side",
    "take_turns",
    "with_other_tasks",
]

_LATE = {
    "Forecast": "_forecast",
    "Missing": "_rough_cost",
    "RoughCost": "_rough_cost",
    "TaskForecast": "_forecast",
    "forecast": "_forecast",
    "in_company": "_side_by_side",
    "missing_of": "_rough_cost",
    "operations_per_second": "_rough_cost",
    "plan_of_checkpoint": "_other_tasks",
    "rough_cost": "_rough_cost",
    "run_plan": "_run_plan",
    "side_by_side": "_side_by_side",
    "take_turns": "_side_by_side",
    "with_other_tasks": "_other_tasks",
}
"""All of it needs torch; naming it does not."""


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(import_module(f"rota.runs.{_LATE[name]}"), name)
    raise AttributeError(f"module 'rota.runs' has no attribute '{name}'")
