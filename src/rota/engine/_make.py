"""The engine that the settings ask for."""

from __future__ import annotations

from collections.abc import Sequence

from accelerate import Accelerator
from torch import nn

from rota.engine._eager import EagerEngine
from rota.engine._engine import Engine
from rota.engine._graph import GraphEngine
from rota.engine._learner import Learner
from rota.engine._own_objects import Trainer
from rota.engine._stack_engine import StackEngine
from rota.engine._text_engine import TextEngine
from rota.models import MultiTaskModel, StackedTexts, stacked
from rota.settings import Settings
from rota.tasks import Task


def make_engine(
    model: nn.Module,
    tasks: Sequence[Task],
    settings: Settings,
    accelerator: Accelerator,
    own: Trainer | None = None,
) -> Engine:
    """An engine around a model.

    Args:
        model: What is trained.
        tasks: All of them.
        settings: With nothing left open: `engine` says which.
        accelerator: Where it is trained.
        own: The user's own objects, in place of those of the settings.

    >>> from rota.data import load_tasks
    >>> from rota.models import MultiTaskModel, SmallConv
    >>> tasks = load_tasks(["digits"])[:2]
    >>> model = MultiTaskModel(SmallConv(tasks[0].inputs.side), tasks)
    >>> settings = Settings(engine="eager", precision="no", delay=0)
    >>> type(make_engine(model, tasks, settings, Accelerator(cpu=True))).__name__
    'EagerEngine'
    """
    on_gpu = accelerator.device.type == "cuda"
    captured = settings.engine in ("graph", "compile") or (settings.engine == "stack" and on_gpu)
    learner = Learner(model, tasks, settings, accelerator, captured, own)
    if settings.engine == "stack":
        assert isinstance(learner.model, MultiTaskModel), "the settings see to it"
        texts = stacked(learner.model.encoder)
        return TextEngine(learner, tasks, texts) if isinstance(texts, StackedTexts) else StackEngine(learner)
    return GraphEngine(learner, tasks) if captured else EagerEngine(learner)
