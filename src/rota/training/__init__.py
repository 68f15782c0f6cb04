"""Train: the loop, and what it needs."""

from rota.deprecation import renamed_names
from rota.engine import Trainer
from rota.evaluation import evaluate
from rota.training._checkpoint import Checkpoints
from rota.training._feedback_queue import NotANumberError
from rota.training._fit import fit
from rota.training._folder import refuse_old
from rota.training._resolve import COMPILED_FROM

__all__ = [
    "COMPILED_FROM",
    "Checkpoints",
    "NotANumberError",
    "Trainer",
    "evaluate",
    "fit",
    "refuse_old",
]

__getattr__ = renamed_names(
    __name__,
    {
        "GIVEN_UP": "rota.runlog.PRUNED",
        "Reward": "rota.sources.RoundSuccess",
        "Survey": "rota.sources.Survey",
        "Trials": "rota.trials.MakeBranches",
        "captured_looks": "rota.engine.captured_probes",
        "collect_facts": "rota.evaluation.collect_row_stats",
        "evaluation_tasks": "rota.evaluation.evaluation_tasks",
        "look": "rota.engine.probe",
        "usual_rows": "rota.evaluation.usual_rows",
    },
)
