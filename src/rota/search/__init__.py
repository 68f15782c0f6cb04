"""Which tasks, and in which ratio, for the next run?  A finished run says which tasks helped; whole runs are tried, and
their scores decide which ratio to try next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.search._chance import draw_ratio, mean_random_share
from rota.search._chosen import FLOOR, Selection, select_from
from rota.search._optuna import load_optuna
from rota.search._result import RatioSearch, RatioTrial
from rota.search._search import search_ratio
from rota.search._selection import Beliefs, choose_tasks

if TYPE_CHECKING:
    from rota.search._sampler import GPHedgeSampler

__all__ = [
    "FLOOR",
    "Beliefs",
    "GPHedgeSampler",
    "RatioSearch",
    "RatioTrial",
    "Selection",
    "choose_tasks",
    "draw_ratio",
    "load_optuna",
    "mean_random_share",
    "search_ratio",
    "select_from",
]


def __getattr__(name: str) -> Any:
    """The sampler is one of Optuna's; Optuna is imported on first use."""
    if name == "GPHedgeSampler":
        load_optuna()
        from rota.search._sampler import GPHedgeSampler

        return GPHedgeSampler
    raise AttributeError(f"module 'rota.search' has no attribute '{name}'")
