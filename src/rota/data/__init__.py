"""Where tasks come from."""

from rota.averages import glue_averages
from rota.data._difficulty import Difficulty, difficulty
from rota.data._language_rows import LanguageRows
from rota.data._load import SUITES, load_tasks, named_task, raw_tasks, task_names, tasks_elsewhere
from rota.data._multimnist import PictureRows
from rota.data._named import NamedTask, RawTask, Reading
from rota.data._packing import pack_rows
from rota.data._suite import Suite
from rota.data._task_difficulty import TaskDifficulty, task_difficulty
from rota.data._tokenizer import Tokenizer
from rota.data._unlabelled import Unlabelled

__all__ = [
    "SUITES",
    "Difficulty",
    "LanguageRows",
    "NamedTask",
    "PictureRows",
    "RawTask",
    "Reading",
    "Suite",
    "TaskDifficulty",
    "Tokenizer",
    "Unlabelled",
    "difficulty",
    "glue_averages",
    "load_tasks",
    "named_task",
    "pack_rows",
    "raw_tasks",
    "task_difficulty",
    "task_names",
    "tasks_elsewhere",
]
