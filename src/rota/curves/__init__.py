"""What would a task gain from more updates?"""

from rota.curves._curve import Curve, fit_curve
from rota.curves._fill import allotted, expected_scores, filled

__all__ = ["Curve", "allotted", "expected_scores", "filled", "fit_curve"]
