"""How a step is executed. The loop, streams, signals and policies do not know it."""

from rota.training.engine._eager import EagerEngine
from rota.training.engine._graph import GraphEngine, Several
from rota.training.engine._look import Look, Measure, Passes, look
from rota.training.engine._looks import captured_looks
from rota.training.engine._outcome import Late, Outcome, at_least_float

__all__ = [
    "EagerEngine",
    "GraphEngine",
    "Late",
    "Look",
    "Measure",
    "Outcome",
    "Passes",
    "Several",
    "at_least_float",
    "captured_looks",
    "look",
]
