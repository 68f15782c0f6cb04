"""How fast does `fit` train?  Its updates per second next to a bare PyTorch loop and `transformers.Trainer`.

All three train one encoder from the same weights on the same rows in the same order, with the same AdamW, clipping,
schedule, dropout and threads, so their last losses must agree; the program stops if they do not. fit makes its
optimizer itself; the others have the fused one, which is the Trainer's own choice, or with --adamw plain PyTorch's.
Sections of a few updates alternate, because a machine is not equally fast all the time; what counts is the median over
rounds of the ratio within a round.

python benchmarks/training.py --data DIR
"""

from __future__ import annotations

import argparse
import copy
import gc
import itertools
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from datapath import TASKS, data_folder, versions, why_skipped
from torch import Tensor, nn
from torch.utils.data import Dataset, SequentialSampler

from rota.arrays import Ids
from rota.data import Reading, load_tasks
from rota.engine import StepPlan
from rota.models import MultiTaskModel, encoder_for
from rota.policies import uniform
from rota.schedules import warmup_linear
from rota.settings import Settings
from rota.streams import TaskStream
from rota.tasks import Batch, Task
from rota.training import fit

LIMITS = {"bare": 0.97, "Trainer": 1.0}
BATCH, RATE, CLIP, WARMUP, DECAY = 32, 5e-5, 1.0, 0.1, 0.01


@dataclass(frozen=True)
class Case:
    """What is trained, and how long.

    Args:
        tasks: Drawn uniformly, one per update.
        model: Every section trains a copy of it.
        updates: In a section, while the clock runs.
        fused: Whether the AdamW of the bare loop and of the Trainer does all of its work in one pass.
        precision: "no" or "bf16".
        device: Where.
        delay: Of fit: updates after which a loss is read.
        engine: Of fit.
        batch: Rows in an update.
        before: Updates before the clock starts: the optimizer makes its state, memory is allocated, work is captured.
    """

    tasks: Sequence[Task]
    model: nn.Module
    updates: int
    fused: bool = True
    precision: str = "no"
    device: str = "cpu"
    delay: int = 0
    engine: str = "eager"
    batch: int = BATCH
    before: int = 2

    @property
    def steps(self) -> int:
        """One update more than are timed: its beginning is the end of the last one that is."""
        return self.before + self.updates + 1

    def rows(self, name: str, ids: Ids) -> Batch:
        return next(task for task in self.tasks if task.name == name).splits["train"].batch(ids)

    def losses(self, name: str, outputs: Tensor, labels: Tensor) -> Tensor:
        return next(task for task in self.tasks if task.name == name).kind.losses(outputs.float(), labels)


class Clock:
    """Notes when each update begins. The first one also starts the dropout, so that all three drop the same."""

    def __init__(self, case: Case, seed: int) -> None:
        self._case, self._seed = case, seed
        self.begun: list[float] = []
        self.noted: dict[str, Any] = {}  # what fit says of its engine

    def tick(self) -> None:
        if not self.begun:
            torch.manual_seed(self._seed)
        before = self._case.before
        if self._case.device != "cpu" and len(self.begun) in (before, before + self._case.updates):
            torch.cuda.synchronize()  # a GPU is still busy when Python is done
        self.begun.append(time.perf_counter())

    @property
    def seconds(self) -> list[float]:
        """Of each timed update, from its beginning to that of the next one."""
        begun = self.begun[self._case.before : self._case.steps]
        assert len(begun) == self._case.updates + 1
        return [after - before for before, after in itertools.pairwise(begun)]


Order = list[tuple[str, Ids]]
Section = Callable[[Case, int, Order, Clock], float]
"""Trains a copy of the model on rows in their order and returns the loss of the last update."""


def order_of(case: Case, seed: int) -> Order:
    """The rows that fit will train on."""
    stream = TaskStream(case.tasks, uniform([task.name for task in case.tasks]), case.batch, seed)
    turns = (stream.next(step) for step in range(case.steps))
    return [(plan.parts[0].task, plan.parts[0].ids) for plan in turns]


def train_fit(case: Case, seed: int, order: Order, clock: Clock) -> float:
    """The whole of fit. It evaluates before the first update, and evaluates and saves after the last one; so the clock
    is in the stream, whose `next` is the first thing that an update does. From one call to the next, everything happens
    once that fit does for an update: choosing, fetching, training, reading the loss, the line of the log (which waits
    in memory until there are a hundred)."""

    class Timed(TaskStream):
        def next(self, step: int) -> StepPlan:
            clock.tick()
            return super().next(step)

    recipe = {"batch_size": case.batch, "lr": RATE, "weight_decay": DECAY, "warmup": WARMUP, "clip": CLIP, "seed": seed}
    machine = {"device": "cpu" if case.device == "cpu" else "auto", "threads": torch.get_num_threads()}
    outside = {"eval_every": case.steps, "eval_rows": 1, "best": "last"}  # while the clock stands
    how = {"precision": case.precision, "delay": case.delay, "engine": case.engine}
    settings = Settings(steps=case.steps, **how, **recipe, **machine, **outside)
    with tempfile.TemporaryDirectory() as place:
        policy = uniform([task.name for task in case.tasks])
        model = copy.deepcopy(case.model)
        run = fit(model, case.tasks, policy, Path(place) / "run", settings, stream=Timed, progress=False)
        lines = run.lines("step")
        clock.noted = run.summary["engine"]
    assert [(line["task"], run.row_ids(line["task"], line)) for line in lines] == [
        (task, ids.tolist()) for task, ids in order
    ]
    return float(lines[-1]["loss"])


def train_bare(case: Case, seed: int, order: Order, clock: Clock) -> float:
    """What one writes by hand, and no more: nothing is logged and no loss is read before the end."""
    device = torch.device(case.device)
    model, optimizer, schedule = parts_of(case)
    for task, ids in order:
        clock.tick()
        batch = case.rows(task, ids).to(device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=case.precision == "bf16"):
            outputs = model(task, batch.inputs)
        loss = case.losses(task, outputs, batch.labels).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        schedule.step()
    return loss.item()


def train_trainer(case: Case, seed: int, order: Order, clock: Clock) -> float:
    """The Trainer as it comes, without evaluation, saving, logging and progress bar. Its data set has whole batches as
    items, made when they are fetched."""
    from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

    last = math.nan

    class Tick(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            clock.tick()

    class OneTaskTrainer(Trainer):
        def compute_loss(self, model: nn.Module, inputs: dict[str, Any], *_: Any, **__: Any) -> Tensor:
            nonlocal last
            loss = case.losses(inputs["task"], model(inputs["task"], inputs["inputs"]), inputs["labels"]).mean()
            last = loss.detach()
            return loss

        def _get_train_sampler(self, *_: Any) -> SequentialSampler:
            return SequentialSampler(self.train_dataset)

    model, optimizer, schedule = parts_of(case)
    with tempfile.TemporaryDirectory() as place:
        quiet = {"report_to": "none", "disable_tqdm": True, "logging_strategy": "no"}
        loader = {"dataloader_num_workers": 0, "dataloader_pin_memory": case.device != "cpu"}
        arguments = TrainingArguments(
            place,
            max_steps=case.steps,
            per_device_train_batch_size=1,
            max_grad_norm=CLIP,
            bf16=case.precision == "bf16",
            use_cpu=case.device == "cpu",
            seed=seed,
            save_strategy="no",
            remove_unused_columns=False,
            **quiet,
            **loader,
        )
        trainer = OneTaskTrainer(
            model,
            arguments,
            data_collator=lambda batches: batches[0],
            train_dataset=Batches(case, order),
            optimizers=(optimizer, schedule),
            callbacks=[Tick()],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return float(last)


class Batches(Dataset[dict[str, Any]]):
    """Single-task batches as items of a data set."""

    def __init__(self, case: Case, order: Order) -> None:
        self._case, self._order = case, order

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, number: int) -> dict[str, Any]:
        task, ids = self._order[number]
        batch = self._case.rows(task, ids)
        return {"task": task, "inputs": batch.inputs, "labels": batch.labels}


def parts_of(case: Case) -> tuple[nn.Module, torch.optim.Optimizer, torch.optim.lr_scheduler.LambdaLR]:
    """A copy of the model, its optimizer (biases and norms do not decay) and the schedule of the rate."""
    model = copy.deepcopy(case.model).to(case.device).train()
    groups = [
        {"params": [p for p in model.parameters() if p.ndim >= 2], "weight_decay": DECAY},
        {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=RATE, fused=case.fused or None)
    rate = warmup_linear(round(WARMUP * case.steps), case.steps)
    return model, optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, rate)


SECTIONS: dict[str, Section] = {"fit": train_fit, "bare": train_bare, "Trainer": train_trainer}


def one_round(case: Case, number: int) -> dict[str, list[float]]:
    """Seconds of each update of each section. Every round has other rows and begins with another section."""
    order, names = order_of(case, seed=number), [*SECTIONS]
    seconds, losses = {}, {}
    for name in names[number % len(names) :] + names[: number % len(names)]:
        clock = Clock(case, seed=number)
        losses[name] = SECTIONS[name](case, number, order, clock)
        seconds[name] = clock.seconds
        gc.collect()  # a model that waits for the collector would be collected in somebody else's section
    assert max(losses.values()) - min(losses.values()) <= 1e-3 * max(losses.values()), f"not the same: {losses}"
    return {name: seconds[name] for name in names}


def make_case(data: Path, encoder: str, updates: int, **options: Any) -> Case:
    tasks = load_tasks(TASKS, Reading(data, encoder))
    torch.manual_seed(0)
    return Case(tasks, MultiTaskModel(encoder_for(tasks), tasks), updates, **options)


def report(rounds: list[dict[str, list[float]]]) -> bool:
    """Print how fit compares; say whether the limits hold."""
    held = True
    print()
    for name, limit in LIMITS.items():
        ratios = sorted(sum(seconds[name]) / sum(seconds["fit"]) for seconds in rounds)
        pairs = [pair for seconds in rounds for pair in zip(seconds[name], seconds["fit"], strict=True)]
        median, single = statistics.median(ratios), statistics.median(other / own for other, own in pairs)
        held &= median >= limit
        print(
            f"fit over {name:8} median {median:.3f} ({ratios[0]:.3f} – {ratios[-1]:.3f}); of single updates "
            f"{single:.3f}; limit {limit:.2f}: {'holds' if median >= limit else 'BROKEN'}"
        )
    return held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=data_folder(), help="folder with glue/; default $ROTA_DATA")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--updates", type=int, default=8, help="timed updates in a section")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--adamw", choices=("fused", "plain"), default="fused", help="of the bare loop and the Trainer")
    asked = parser.parse_args()
    if reason := why_skipped(asked.data):
        print(f"skipped: {reason}")
        return
    torch.set_num_threads(asked.threads)
    case = make_case(asked.data, "minilm", asked.updates, fused=asked.adamw == "fused")
    print(f"{versions()}; {torch.get_num_threads()} threads")
    print(f"minilm, batch {BATCH}, {', '.join(TASKS)}; {asked.adamw} AdamW in the bare loop and the Trainer\n")
    print("updates/s" + "".join(f"{name:>10}" for name in SECTIONS))
    rounds = []
    for number in range(asked.rounds):
        rounds.append(one_round(case, number))
        speeds = (asked.updates / sum(seconds) for seconds in rounds[-1].values())
        print(f"round {number + 1:3}" + "".join(f"{speed:10.3f}" for speed in speeds), flush=True)
    sys.exit(0 if report(rounds) else 1)


if __name__ == "__main__":
    main()
