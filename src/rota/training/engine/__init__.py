"""How a step is executed. The loop, streams, signals and policies do not know it."""

from rota.training.engine._eager import EagerEngine, Outcome, at_least_float

__all__ = ["EagerEngine", "Outcome", "at_least_float"]
