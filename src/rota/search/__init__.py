"""Which ratio for the next run?  Whole trainings are tried, and what they scored says which one to try next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.search._result import RatioSearch, RatioTrial
from rota.search._search import search_ratio

if TYPE_CHECKING:
    from rota.search._sampler import GPHedgeSampler

__all__ = ["GPHedgeSampler", "RatioSearch", "RatioTrial", "search_ratio"]


def __getattr__(name: str) -> Any:
    """The sampler is one of Optuna's; Optuna is imported when somebody asks for it."""
    if name == "GPHedgeSampler":
        from rota.search._optuna import load_optuna

        load_optuna()
        from rota.search._sampler import GPHedgeSampler

        return GPHedgeSampler
    raise AttributeError(f"module 'rota.search' has no attribute '{name}'")
