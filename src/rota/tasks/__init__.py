"""What there is to learn: tasks, their kinds, their rows."""

from rota.tasks._batch import Batch, Ids, repeated
from rota.tasks._classification import Classification, MultipleChoice, SpanClassification
from rota.tasks._grouped import Cloze, GroupedAnswers
from rota.tasks._inputs import Inputs, Pictures, Texts, Tokens
from rota.tasks._kind import IGNORED, Decisions, Facts, Kind
from rota.tasks._kinds import KINDS, kind_from
from rota.tasks._metrics import entities, exact_match, overlap_f1
from rota.tasks._regression import Regression
from rota.tasks._rows import Rows, TensorRows, halve_rows, sample_rows
from rota.tasks._shelf import Shelf, Shelved
from rota.tasks._spans import MASKED, Answer, Passages, Span
from rota.tasks._tagging import Tagging
from rota.tasks._task import Task, adjust_tasks, check_tasks, halve_dev, limit_rows

__all__ = [
    "IGNORED",
    "KINDS",
    "MASKED",
    "Answer",
    "Batch",
    "Classification",
    "Cloze",
    "Decisions",
    "Facts",
    "GroupedAnswers",
    "Ids",
    "Inputs",
    "Kind",
    "MultipleChoice",
    "Passages",
    "Pictures",
    "Regression",
    "Rows",
    "Shelf",
    "Shelved",
    "Span",
    "SpanClassification",
    "Tagging",
    "Task",
    "TensorRows",
    "Texts",
    "Tokens",
    "adjust_tasks",
    "check_tasks",
    "entities",
    "exact_match",
    "halve_dev",
    "halve_rows",
    "kind_from",
    "limit_rows",
    "overlap_f1",
    "repeated",
    "sample_rows",
]
