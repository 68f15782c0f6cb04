"""Train, look, and take it back: forks of a model, and the methods that are made of them.

`fork` is for any loop. `AlphaVIL` and `DIW` train in rounds: branches from the same parameters, one per task,
which are then combined for one target task. `alpha_vil` and `diw` are one such round in a plain loop;
`rota.fit(…, stream=functools.partial(RoundStream, trial=AlphaVIL))` makes whole runs of them.
"""

from rota.deprecation import renamed_names
from rota.trials._alpha import AlphaSettings, tune
from rota.trials._alpha_vil import AlphaVIL, alpha_vil
from rota.trials._branch_training import LEAST, BranchTraining, Segment, Target
from rota.trials._deltas import Deltas
from rota.trials._diw import DIW, diw
from rota.trials._fork import fork
from rota.trials._round_stream import MakeBranches, RoundStream

__all__ = [
    "DIW",
    "LEAST",
    "AlphaSettings",
    "AlphaVIL",
    "BranchTraining",
    "Deltas",
    "MakeBranches",
    "RoundStream",
    "Segment",
    "Target",
    "alpha_vil",
    "diw",
    "fork",
    "tune",
]

__getattr__ = renamed_names(
    __name__,
    {
        "Trial": "rota.trials.BranchTraining",
    },
)
