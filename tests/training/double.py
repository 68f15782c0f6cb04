"""A training in double precision, started by `test_distributed.py` in one process and in two."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import torch

from rota.data import load_tasks
from rota.models import MultiTaskModel, encoder_for
from rota.policies import Exp3S
from rota.settings import Settings
from rota.signals import prediction_gain
from rota.streams import JointStream, TaskStream
from rota.tasks import Task, TensorRows
from rota.training import fit


def in_double(task: Task) -> Task:
    splits = {}
    for split, rows in task.splits.items():
        batch = rows.batch(np.arange(61))  # batches of 8: the last one has 5 rows, an odd number for two processes
        splits[split] = TensorRows({"image": batch.inputs["image"].double()}, batch.labels)
    return Task(task.name, task.kind, splits, task.inputs, task.auxiliary)


def main(folder: str, stream: str, batch_size: str, steps: str, stop: str) -> None:
    """Train with AdamW; `stop` is a step at which to die, -1 for none."""
    tasks = [in_double(task) for task in load_tasks(["left", "right", "parity"])]
    torch.manual_seed(0)
    model = MultiTaskModel(encoder_for(tasks, dropout=0.0), tasks).double()
    names = [task.name for task in tasks]
    settings = Settings(steps=int(steps), batch_size=int(batch_size), eval_every=20, checkpoint_every=5, device="cpu")

    decisions = []

    def gain(view):
        decisions.append(view.task)
        if view.step == int(stop):
            sys.exit(3)
        return prediction_gain(view)

    kind = {"task": TaskStream, "joint": JointStream}[stream]
    resume = stop == "-2"
    fit(model, tasks, Exp3S(names, eta=0.1), folder, settings, stream=kind, listen=gain, resume=resume, progress=False)
    Path(f"{folder}-rank{os.environ.get('RANK', 0)}.json").write_text(json.dumps(decisions))


if __name__ == "__main__":
    main(*sys.argv[1:])
