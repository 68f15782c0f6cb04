"""A paper's name, and the composition of policy, stream and signal behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.methods._comparison import Comparison, make_comparison
from rota.methods._method import Given, Method
from rota.methods._plan import Plan, make_plan, merge_fields
from rota.methods._table import METHODS

if TYPE_CHECKING:
    from rota.methods._adapt import Adaptation, Adapting
    from rota.methods._ensemble import Ensemble
    from rota.methods._run import run_plan
    from rota.methods._trained import Trained

__all__ = [
    "METHODS",
    "Adaptation",
    "Adapting",
    "Comparison",
    "Ensemble",
    "Given",
    "Method",
    "Plan",
    "Trained",
    "make_comparison",
    "make_plan",
    "merge_fields",
    "run_plan",
]


def __getattr__(name: str) -> Any:
    """Naming a method needs no torch; running one does."""
    if name == "run_plan":
        from rota.methods._run import run_plan

        return run_plan
    if name == "Trained":
        from rota.methods._trained import Trained

        return Trained
    if name == "Ensemble":
        from rota.methods._ensemble import Ensemble

        return Ensemble
    if name in ("Adapting", "Adaptation"):
        from rota.methods import _adapt

        return getattr(_adapt, name)
    raise AttributeError(f"module 'rota.methods' has no attribute '{name}'")
