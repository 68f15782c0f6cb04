"""What there is to learn: tasks, their kinds, their rows."""

from rota.averages import LOWER_IS_BETTER, is_lower_better
from rota.deprecation import renamed_names
from rota.tasks._batch import Batch, repeated
from rota.tasks._classification import Classification, MultipleChoice, SpanClassification
from rota.tasks._device_rows import DeviceRows, SupportsDeviceRows
from rota.tasks._grouped import Cloze, GroupedAnswers
from rota.tasks._inputs import Continuations, Inputs, Pictures, Texts, Tokens
from rota.tasks._kind import IGNORED, Decisions, Kind, RowStats
from rota.tasks._kinds import KINDS, kind_from
from rota.tasks._language import Causal
from rota.tasks._metrics import entities, exact_match, overlap_f1, rouge_l
from rota.tasks._regression import Regression
from rota.tasks._rows import Rows, TensorRows, halve_rows, sample_rows
from rota.tasks._spans import MASKED, Answer, Passages, Span
from rota.tasks._tagging import Tagging
from rota.tasks._task import Task, adjust_tasks, check_tasks, cut_dev, halve_dev, limit_rows, tasks_from
from rota.tasks._trouble import Trouble, with_trouble

__all__ = [
    "IGNORED",
    "KINDS",
    "LOWER_IS_BETTER",
    "MASKED",
    "Answer",
    "Batch",
    "Causal",
    "Classification",
    "Cloze",
    "Continuations",
    "Decisions",
    "DeviceRows",
    "GroupedAnswers",
    "Inputs",
    "Kind",
    "MultipleChoice",
    "Passages",
    "Pictures",
    "Regression",
    "RowStats",
    "Rows",
    "Span",
    "SpanClassification",
    "SupportsDeviceRows",
    "Tagging",
    "Task",
    "TensorRows",
    "Texts",
    "Tokens",
    "Trouble",
    "adjust_tasks",
    "check_tasks",
    "cut_dev",
    "entities",
    "exact_match",
    "halve_dev",
    "halve_rows",
    "is_lower_better",
    "kind_from",
    "limit_rows",
    "overlap_f1",
    "repeated",
    "rouge_l",
    "sample_rows",
    "tasks_from",
    "with_trouble",
]

__getattr__ = renamed_names(
    __name__,
    {
        "Facts": "rota.tasks.RowStats",
        "Ids": "rota.arrays.Ids",
        "Shelf": "rota.tasks.DeviceRows",
        "Shelved": "rota.tasks.SupportsDeviceRows",
    },
)
