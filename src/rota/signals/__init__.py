"""Numbers from a model: what a policy hears."""

from rota.signals._gains import Signal, View, prediction_gain

__all__ = ["Signal", "View", "prediction_gain"]
