"""What would a task gain from more updates?"""

from rota.curves._bank import Bank, fit_bank
from rota.curves._borders import Borders
from rota.curves._curve import Curve, fit_curve, fit_points
from rota.curves._fill import allotted, expected_scores, filled, shared_out
from rota.curves._history import History

__all__ = [
    "Bank",
    "Borders",
    "Curve",
    "History",
    "allotted",
    "expected_scores",
    "filled",
    "fit_bank",
    "fit_curve",
    "fit_points",
    "shared_out",
]
