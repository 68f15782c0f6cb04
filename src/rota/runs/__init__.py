"""From a plan to a finished run folder, or to what it would cost; a new task for a trained model."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rota.runs._adaptation import Adaptation, Adapting
    from rota.runs._forecast import Forecast, TaskForecast, forecast
    from rota.runs._run_plan import run_plan

__all__ = ["Adaptation", "Adapting", "Forecast", "TaskForecast", "forecast", "run_plan"]

_LATE = {
    "Adaptation": "_adaptation",
    "Adapting": "_adaptation",
    "Forecast": "_forecast",
    "TaskForecast": "_forecast",
    "forecast": "_forecast",
    "run_plan": "_run_plan",
}
"""All of it needs torch; naming it does not."""


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(import_module(f"rota.runs.{_LATE[name]}"), name)
    raise AttributeError(f"module 'rota.runs' has no attribute '{name}'")
