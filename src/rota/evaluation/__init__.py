"""How good is a model on each task?"""

from rota.evaluation._access import RunAccess
from rota.evaluation._budget import EvaluationBudget, evaluation_budget
from rota.evaluation._evaluation import Gather, by_length, collect_row_stats, evaluate, evaluation_tasks, usual_rows
from rota.evaluation._footprint import rows_within

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
    "usual_rows",
]
