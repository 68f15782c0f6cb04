"""Numbers from a model: what a policy hears."""

from rota.signals._gains import Signal, View, improving_loss, prediction_gain, visit_gain

__all__ = ["Signal", "View", "improving_loss", "prediction_gain", "visit_gain"]
