"""The MTL bandit: try a policy in a second, without a network."""

from rota.simulation._bandit import MTLBandit, Pull
from rota.simulation._play import Play, log_gain, play, score_gain

__all__ = ["MTLBandit", "Play", "Pull", "log_gain", "play", "score_gain"]
