"""What there is to learn: tasks, their kinds, their rows."""

from rota.tasks._inputs import Inputs, Pictures, Tokens
from rota.tasks._kinds import IGNORED, Classification, Facts, Kind, MultipleChoice, Regression, Span, Tagging
from rota.tasks._rows import Batch, Ids, Rows, TensorRows
from rota.tasks._task import Task, check_tasks, limit_rows

__all__ = [
    "IGNORED",
    "Batch",
    "Classification",
    "Facts",
    "Ids",
    "Inputs",
    "Kind",
    "MultipleChoice",
    "Pictures",
    "Regression",
    "Rows",
    "Span",
    "Tagging",
    "Task",
    "TensorRows",
    "Tokens",
    "check_tasks",
    "limit_rows",
]
