"""Several plans that differ in what is compared, each with the same seeds: what they are, and how they are trained."""

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
from rota.comparisons._comparison import BASELINES, COMPARISON, SINGLE, Cell, Comparison, make_comparison, other_verbs
from rota.comparisons._equal_cost import equal_cost
from rota.comparisons._headroom_design import MIXTURES, headroom_comparison
from rota.comparisons._prediction import register_claims
from rota.comparisons._transfer_runs import transfer_comparison

__all__ = [
    "ALONE",
    "BASELINES",
    "COMPARISON",
    "IN_COMPANY",
    "MIXTURES",
    "SINGLE",
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
