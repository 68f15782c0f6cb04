"""Several plans that differ in what is compared, each with the same seeds: what they are, and how they are trained."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rota.comparisons._cells import (
    ALONE,
    IN_COMPANY,
    Event,
    is_finished,
    run_comparison,
    steps_done,
    train_cells,
    train_marked,
)
from rota.comparisons._comparison import (
    ADAPTED,
    BASELINES,
    COMPARISON,
    FRESH,
    SINGLE,
    Cell,
    Comparison,
    make_comparison,
    other_verbs,
)
from rota.comparisons._comparison_file import FORWARDS
from rota.comparisons._equal_cost import equal_cost
from rota.comparisons._headroom_design import MIXTURES, headroom_comparison
from rota.comparisons._prediction import register_claims
from rota.comparisons._transfer_runs import transfer_comparison

if TYPE_CHECKING:
    from rota.comparisons._adaptation import Adaptation, Adapting

__all__ = [
    "ADAPTED",
    "ALONE",
    "BASELINES",
    "COMPARISON",
    "FORWARDS",
    "FRESH",
    "IN_COMPANY",
    "MIXTURES",
    "SINGLE",
    "Adaptation",
    "Adapting",
    "Cell",
    "Comparison",
    "Event",
    "equal_cost",
    "headroom_comparison",
    "is_finished",
    "make_comparison",
    "other_verbs",
    "register_claims",
    "run_comparison",
    "steps_done",
    "train_cells",
    "train_marked",
    "transfer_comparison",
]


def __getattr__(name: str) -> Any:
    if name in ("Adaptation", "Adapting"):  # late: they load torch
        return getattr(import_module("rota.comparisons._adaptation"), name)
    raise AttributeError(f"module 'rota.comparisons' has no attribute '{name}'")
