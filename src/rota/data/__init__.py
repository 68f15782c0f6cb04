"""Where tasks come from."""

from rota.averages import glue_averages
from rota.data._difficulty import Difficulty, difficulty
from rota.data._load import SUITES, load_tasks, named_task, raw_tasks, task_names, tasks_elsewhere
from rota.data._multimnist import PictureRows
from rota.data._named import NamedTask, RawTask, Reading
from rota.data._suite import Suite
from rota.data._task_difficulty import TaskDifficulty, task_difficulty
from rota.data._unlabelled import Unlabelled

__all__ = [
    "SUITES",
    "Difficulty",
    "NamedTask",
    "PictureRows",
    "RawTask",
    "Reading",
    "Suite",
    "TaskDifficulty",
    "Unlabelled",
    "difficulty",
    "glue_averages",
    "load_tasks",
    "named_task",
    "raw_tasks",
    "task_difficulty",
    "task_names",
    "tasks_elsewhere",
]
