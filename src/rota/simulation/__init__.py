"""The MTL bandit: try a policy in a second, without a network."""

from rota.simulation._bandit import MTLBandit, Pull
from rota.simulation._games import KINDS, Game
from rota.simulation._logged import WORTHS, logged
from rota.simulation._play import Play, log_gain, play, score_gain
from rota.simulation._rounds import ENTROPIES, RULES, Rule, improve_by_rounds
from rota.simulation._static import best_static
from rota.simulation._study import AS_PRINTED, COUNTERFACTUAL, Study, study
from rota.simulation._together import play_together

__all__ = [
    "AS_PRINTED",
    "COUNTERFACTUAL",
    "ENTROPIES",
    "KINDS",
    "RULES",
    "WORTHS",
    "Game",
    "MTLBandit",
    "Play",
    "Pull",
    "Rule",
    "Study",
    "best_static",
    "improve_by_rounds",
    "log_gain",
    "logged",
    "play",
    "play_together",
    "score_gain",
    "study",
]
