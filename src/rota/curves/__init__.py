"""What would a task gain from more updates?"""

from rota.curves._bank import Bank, fit_bank
from rota.curves._by_task import ALL, ByTask, Places
from rota.curves._curve import Curve, fit_curve, fit_points
from rota.curves._fill import allotted, expected_scores, filled, shared_out
from rota.curves._history import History
from rota.curves._pass_boundaries import PassBoundaries
from rota.deprecation import renamed_names

__all__ = [
    "ALL",
    "Bank",
    "ByTask",
    "Curve",
    "History",
    "PassBoundaries",
    "Places",
    "allotted",
    "expected_scores",
    "filled",
    "fit_bank",
    "fit_curve",
    "fit_points",
    "shared_out",
]

__getattr__ = renamed_names(
    __name__,
    {
        "Borders": "rota.curves.PassBoundaries",
    },
)
