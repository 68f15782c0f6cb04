"""How good is a model on each task?"""

from rota.evaluation._access import RunAccess
from rota.evaluation._budget import EvaluationBudget, evaluation_budget
from rota.evaluation._evaluation import Gather, by_length, collect_row_stats, evaluate, evaluation_tasks, usual_rows
from rota.evaluation._footprint import rows_within
from rota.evaluation._said import spoken

__all__ = [
    "EvaluationBudget",
    "Gather",
    "RunAccess",
    "by_length",
    "collect_row_stats",
    "evaluate",
    "evaluation_budget",
    "evaluation_tasks",
    "rows_within",
    "spoken",
    "usual_rows",
]
