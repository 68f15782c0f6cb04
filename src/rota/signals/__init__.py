"""Numbers from a model: what a policy hears."""

from rota.signals._batchbald import BatchBALD, batchbald, joint_mutual_information, released_batchbald
from rota.signals._covariance import covariance_similarity, mean_similarity
from rota.signals._dropout import Scope, ensemble_outputs, layers_of, mc_dropout, refuse_without_dropout
from rota.signals._first_inputs import FirstInputs, first_inputs
from rota.signals._gains import (
    Signal,
    View,
    improving_loss,
    mean_advantage,
    prediction_gain,
    relative_gain,
    training_loss,
    visit_gain,
)
from rota.signals._masks import SharedMasks
from rota.signals._scores import SCORES, Score
from rota.signals._uncertainty import bald, entropy, expected_entropy

__all__ = [
    "SCORES",
    "BatchBALD",
    "FirstInputs",
    "Scope",
    "Score",
    "SharedMasks",
    "Signal",
    "View",
    "bald",
    "batchbald",
    "covariance_similarity",
    "ensemble_outputs",
    "entropy",
    "expected_entropy",
    "first_inputs",
    "improving_loss",
    "joint_mutual_information",
    "layers_of",
    "mc_dropout",
    "mean_advantage",
    "mean_similarity",
    "prediction_gain",
    "refuse_without_dropout",
    "relative_gain",
    "released_batchbald",
    "training_loss",
    "visit_gain",
]
