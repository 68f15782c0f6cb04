"""What several tests train: three small picture tasks, a small model, and a way to die in the middle of a step."""

from __future__ import annotations

import math

import pytest
import torch

from rota.engine import EagerEngine
from rota.models import MultiTaskModel, SmallConv
from rota.policies import uniform
from rota.settings import Settings
from rota.tasks import Classification, Task, TensorRows
from rota.training import fit

NAMES = ("a", "b", "aux")
QUICK = Settings(steps=40, batch_size=8, eval_every=10, checkpoint_every=4, lr=0.01)


def make_tasks(nan_rows=()):
    """Three small picture tasks: a bright half, a bright row, and nothing."""
    generator = torch.Generator().manual_seed(0)
    tasks = []
    for name, rows in (("a", 50), ("b", 30), ("aux", 21)):
        splits = {}
        for split, count in (("train", rows), ("dev", 20), ("test", 10)):
            images, labels = torch.rand(count, 1, 4, 4, generator=generator), torch.arange(count) % 2
            if name != "aux":
                images[:, 0, :2] += labels[:, None, None] * (1.0 if name == "a" else 0.5)
            if split == "train" and name == "b":
                images[list(nan_rows)] = math.nan
            splits[split] = TensorRows({"image": images}, labels)
        tasks.append(Task(name, Classification(2), splits, auxiliary=name == "aux"))
    return tasks


def make_model(tasks, dropout=0.2):
    torch.manual_seed(0)
    return MultiTaskModel(SmallConv(4, width=8, dropout=dropout), tasks)


def train(folder, policy=None, settings=QUICK, resume=False, tasks=None, dropout=0.2, **options):
    tasks = tasks or make_tasks()
    return fit(
        make_model(tasks, dropout),
        tasks,
        policy or uniform(NAMES),
        folder,
        settings,
        resume=resume,
        progress=False,
        **options,
    )


class Crash(Exception):  # noqa: N818
    """The process dies."""


def crash_at(step, folder, *arguments, **options):
    """Train, and die in the middle of a step, after the model was updated."""
    real = EagerEngine.update

    def update(self, plan, after_update=None):
        outcome = real(self, plan, after_update)
        if plan.step == step:
            raise Crash
        return outcome

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EagerEngine, "update", update)
        with pytest.raises(Crash):
            train(folder, *arguments, **options)
