"""Decides what a multi-task model trains on next: sampling policies, training, comparison and reports."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rota.errors import RotaError, missing_package
from rota.feedback import Choice, Feedback
from rota.interrupts import save_on_signals
from rota.policies import (
    ADO,
    DGA,
    DUMP,
    DWA,
    FAMO,
    ODM,
    RLW,
    SEC,
    UW,
    UWSO,
    Anchored,
    Auto,
    AutoDev,
    Cycle,
    DynamixSFT,
    Exp3S,
    Fixed,
    Hold,
    PiKE,
    Policy,
    Steered,
    Tempered,
    Thompson,
    Tracking,
    Union,
    WithEnds,
    WithFloor,
    WithStart,
    proportional,
    uniform,
)

if TYPE_CHECKING:
    from rota.mixing import Mix, join
    from rota.settings import Settings
    from rota.tasks import (
        Answer,
        Causal,
        Classification,
        Cloze,
        GroupedAnswers,
        MultipleChoice,
        Regression,
        Span,
        SpanClassification,
        Tagging,
        Task,
    )
    from rota.training import Trainer, evaluate, fit

__version__ = "0.2.0"
__all__ = [
    "ADO",
    "DGA",
    "DUMP",
    "DWA",
    "FAMO",
    "ODM",
    "RLW",
    "SEC",
    "UW",
    "UWSO",
    "Anchored",
    "Answer",
    "Auto",
    "AutoDev",
    "Causal",
    "Choice",
    "Classification",
    "Cloze",
    "Cycle",
    "DynamixSFT",
    "Exp3S",
    "Feedback",
    "Fixed",
    "GroupedAnswers",
    "Hold",
    "Mix",
    "MultipleChoice",
    "PiKE",
    "Policy",
    "Regression",
    "RotaError",
    "Settings",
    "Span",
    "SpanClassification",
    "Steered",
    "Tagging",
    "Task",
    "Tempered",
    "Thompson",
    "Tracking",
    "Trainer",
    "Union",
    "WithEnds",
    "WithFloor",
    "WithStart",
    "evaluate",
    "fit",
    "join",
    "proportional",
    "save_on_signals",
    "uniform",
]

_LATE = {
    "Mix": "rota.mixing",
    "Settings": "rota.settings",
    "Trainer": "rota.training",
    "evaluate": "rota.training",
    "fit": "rota.training",
    "join": "rota.mixing",
}
"""What takes a while to import, or needs torch, and where it is; the kinds of tasks are with `Task`."""


def __getattr__(name: str) -> Any:
    part = name not in __all__  # `import rota` is enough for rota.integrations.hf
    if part and (name.startswith("_") or find_spec(f"rota.{name}") is None):
        raise AttributeError(f"module 'rota' has no attribute '{name}'")
    try:
        return import_module(f"rota.{name}") if part else getattr(import_module(_LATE.get(name, "rota.tasks")), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "rota":
            raise
        raise missing_package(f"`rota.{name}`", str(error.name), "all" if part else "train") from error


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
