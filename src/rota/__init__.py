"""rota: whose turn it is. What should a model that learns many tasks train on next?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.errors import RotaError
from rota.feedback import Choice, Feedback
from rota.policies import (
    Auto,
    Cycle,
    Exp3S,
    Fixed,
    Hold,
    Policy,
    Tempered,
    Tracking,
    Union,
    WithEnds,
    WithFloor,
    proportional,
    uniform,
)

if TYPE_CHECKING:
    from rota.training import evaluate, fit

__version__ = "0.1.0"
__all__ = [
    "Auto",
    "Choice",
    "Cycle",
    "Exp3S",
    "Feedback",
    "Fixed",
    "Hold",
    "Policy",
    "RotaError",
    "Tempered",
    "Tracking",
    "Union",
    "WithEnds",
    "WithFloor",
    "evaluate",
    "fit",
    "proportional",
    "uniform",
]


def __getattr__(name: str) -> Any:
    """`rota.fit` and `rota.evaluate` need torch; they are imported when somebody asks for them."""
    if name in ("evaluate", "fit"):
        from rota import training

        return getattr(training, name)
    raise AttributeError(f"module 'rota' has no attribute '{name}'")
