"""Train and evaluate: the loop, and what it needs."""

from rota.training._checkpoint import Checkpoints
from rota.training._evaluate import collect_facts, evaluate, evaluation_tasks, usual_rows
from rota.training._fit import fit
from rota.training._folder import refuse_old
from rota.training._judge import GIVEN_UP, Watch
from rota.training._recorder import NotANumberError
from rota.training._reward import Reward
from rota.training._rounds import Trials
from rota.training._survey import Survey
from rota.training.engine import captured_looks, look

__all__ = [
    "GIVEN_UP",
    "Checkpoints",
    "NotANumberError",
    "Reward",
    "Survey",
    "Trials",
    "Watch",
    "captured_looks",
    "collect_facts",
    "evaluate",
    "evaluation_tasks",
    "fit",
    "look",
    "refuse_old",
    "usual_rows",
]
