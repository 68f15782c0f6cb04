"""Trainings of models that are sharded over processes, for `test_sharded.py`: a program of its own, since pytest's
processes have threads that a fork breaks, and one for several trainings, since torch takes seconds to load.

    python sharded.py FOLDER JOBS

`JOBS` is a JSON list of {"name", "world", "arguments", "environment"}. In each, so many processes train into a folder
of that name: POLICY, which is static or learning, and HOW. `shard` is the plain setting, `plain` a whole model in each
process, `accelerator` one of the user's own, `optimizer` his optimizer. Where the first argument is `rota`, they are
those of the command line. What each process writes to its streams is in NAME-rankN.txt, how it ended in ends.json.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from pathlib import Path

import numpy as np
import torch
import torch.distributed.checkpoint
import torch.distributed.fsdp
import torch.distributed.tensor
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from accelerate.utils import DistributedType
from torch import nn

from rota.cli import main
from rota.data import load_tasks
from rota.errors import RotaError
from rota.policies import Exp3S, uniform
from rota.settings import Settings
from rota.signals import prediction_gain
from rota.streams import JointStream, TaskStream
from rota.tasks import Task, TensorRows
from rota.training import Trainer, fit

TASKS = ["left", "right", "parity"]
STREAMS = {"task": TaskStream, "joint": JointStream}


class Layer(nn.Module):
    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.linear, self.dropout = nn.LayerNorm(width), nn.Linear(width, width), nn.Dropout(dropout)

    def forward(self, x):
        return x + self.dropout(torch.relu(self.linear(self.norm(x))))


class Layers(nn.Module):
    """Three layers that are alike, a frozen one, and a head for each task; 9 is odd, and so are parts in two
    processes."""

    def __init__(self, classes: dict[str, int], dropout: float) -> None:
        super().__init__()
        self.read = nn.Linear(64, 9)
        self.layers = nn.ModuleList([Layer(9, dropout) for _ in range(3)])
        self.frozen = nn.Linear(9, 9).requires_grad_(False)
        self.register_buffer("scale", torch.tensor(0.5))
        self.heads = nn.ModuleDict({name: nn.Linear(9, count) for name, count in classes.items()})

    def forward(self, pictures, task):
        x = self.read(pictures.flatten(1))
        for layer in self.layers:
            x = layer(x)
        return self.heads[task](x + self.scale * self.frozen(x))


def ask(model, task, inputs):
    return model(inputs["image"], task)


def make_tasks() -> list[Task]:
    """61 training rows, so that a pass ends with an odd number; 5 to 13 dev rows, so that evaluations by 4 have two,
    three and four batches: in two processes one of them has one more than the other."""
    tasks = []
    for number, task in enumerate(load_tasks(TASKS)):
        splits = {}
        for split, rows in task.splits.items():
            batch = rows.batch(np.arange(61 if split == "train" else 5 + 4 * number))
            pictures = nn.functional.interpolate(batch.inputs["image"].double(), (8, 8))
            splits[split] = TensorRows({"image": pictures}, batch.labels)
        tasks.append(Task(task.name, task.kind, splits, auxiliary=task.auxiliary))
    return tasks


def own_trainer(how: str, model: nn.Module) -> Trainer:
    if how == "accelerator":
        plugin = FullyShardedDataParallelPlugin(fsdp_version=2, auto_wrap_policy="transformer_based_wrap")
        return Trainer(accelerator=Accelerator(cpu=True, fsdp_plugin=plugin))
    if how == "optimizer":
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        return Trainer(optimizer=optimizer, scheduler=torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 40))
    return Trainer()


def train(folder: Path, *arguments: str) -> None:
    """Train in one of the processes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("policy")
    parser.add_argument("how")
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--stream", default="task")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--stop", type=int, default=-1)
    parser.add_argument("--elastic", action="store_true")
    asked = parser.parse_args(arguments)
    torch.manual_seed(0)
    tasks = make_tasks()
    model = Layers({task.name: task.kind.classes for task in tasks}, asked.dropout).double()
    learns = asked.policy == "learning"
    policy = Exp3S([task.name for task in tasks], eta=0.1) if learns else uniform([task.name for task in tasks])
    own, decisions = own_trainer(asked.how, model), []
    sharded = asked.how in ("shard", "optimizer")
    settings = Settings(
        **{"steps": 40, "batch_size": asked.batch_size, "accumulate": asked.accumulate, "shard": sharded},
        **{"eval_every": 10, "checkpoint_every": 5, "eval_batch_size": 4, "device": "cpu"},
        **({} if own.optimizer else {"lr": 0.01}),
    )

    def gain(view):
        decisions.append(view.task)
        if view.step == asked.stop:
            os._exit(3)  # no farewell: as if the machine had lost its power
        return prediction_gain(view)

    resume = (folder / "run.json").is_file()
    common = {"stream": STREAMS[asked.stream], "listen": gain, "resume": resume, "elastic": asked.elastic}
    fit(model, tasks, policy, folder, settings, forward=ask, trainer=own, progress=False, **common)
    if own.accelerator is not None:  # it is left as it was: on CPUs accelerate ignores the plugin
        assert own.accelerator.distributed_type == DistributedType.MULTI_CPU
    whole = {name: _gathered(own).tolist() for name, own in model.state_dict().items()}
    said = {"decisions": decisions, "weights": whole, "sharded": sum(map(_is_sharded, model.state_dict().values()))}
    rank = os.environ.get("RANK", 0)
    folder.with_name(f"{folder.name}-rank{rank}.json").write_text(json.dumps(said))


def _is_sharded(tensor):
    return hasattr(tensor, "full_tensor")


def _gathered(tensor):
    return tensor.full_tensor() if _is_sharded(tensor) else tensor


def run(folder: Path, job: dict) -> list[int]:
    """Do a job in so many processes; how each of them ended."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = []
    for rank in range(job["world"]):
        if child := os.fork():
            children.append(child)
            continue
        group = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": job["world"], "MASTER_PORT": port}
        group = {"MASTER_ADDR": "127.0.0.1", **group} if job["world"] > 1 else {}
        os.environ.update({name: str(value) for name, value in {**group, **job.get("environment", {})}.items()})
        told = os.open(folder / f"{job['name']}-rank{rank}.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(told, 1)
        os.dup2(told, 2)
        first, *arguments = job["arguments"]
        if first == "rota":
            sys.argv = ["rota", *arguments]
            main()
            sys.exit()
        try:
            train(folder / job["name"], first, *arguments)
        except RotaError as error:
            sys.stderr.write(f"{error}\n")
            sys.exit(2)
        sys.exit()
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


if __name__ == "__main__":
    place = Path(sys.argv[1])
    ends = [run(place, job) for job in json.loads(sys.argv[2])]
    (place / "ends.json").write_text(json.dumps(ends))
