"""Finished runs that answer: score the rows of their tasks, say what they think of new ones."""

from rota.inference._ensemble import Ensemble, MeanModel
from rota.inference._task_similarity import TaskSimilarity, task_similarity
from rota.inference._trained import Answering, Trained

__all__ = ["Answering", "Ensemble", "MeanModel", "TaskSimilarity", "Trained", "task_similarity"]
