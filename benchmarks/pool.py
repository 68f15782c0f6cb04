"""What does a step cost that picks its rows?  MT-Uncertainty next to a uniform step, CA-MTL next to a plain encoder.

Six GLUE tasks, minilm with its lower half frozen (without dropout in all arms), batch 32, two CPU threads:

  literal    scores T·b candidates, padded to the longest, with the whole encoder, then trains on the b highest
  exact      the same picks: candidates of similar length together, nothing padded to the longest
  kept       exact, with what the frozen half says of the rows already known
  …          approximations, and how much their picks differ

python benchmarks/pool.py --data DIR [--encoder minilm] [--rounds 5] [--trained 40] [--only pool parts picks]
"""

from __future__ import annotations

import argparse
import copy
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from datapath import TASKS, data_folder, versions
from scipy.stats import spearmanr

from rota.data import Reading, load_tasks
from rota.draws import Queue
from rota.models import MultiTaskModel, Parts, Pretrained, camtl, evaluating, pretrained, with_frozen_rows
from rota.policies import uniform
from rota.streams import CandidateQuery, MTUncertainty, PoolStream, Stream, TaskStream
from rota.tasks import Batch, Task
from rota.testing import access_to

BATCH, ROOM = 32, 4 * 2**30
LIMITS = {"exact": ("literal", 0.8), "kept": ("literal", 0.6), "CA-MTL": ("plain", 1.5)}
ABLATION = {
    "attention": Parts(alignment="off", norm="off", bottleneck="off"),
    "attention of trained layers": Parts(attention="trainable", alignment="off", norm="off", bottleneck="off"),
    "alignment": Parts(attention="off", norm="off", bottleneck="off"),
    "layer norms": Parts(attention="off", alignment="off", bottleneck="off"),
    "bottleneck": Parts(attention="off", alignment="off", norm="off"),
    "CA-MTL": Parts(),
}


@dataclass
class Arm:
    """A way to do steps.

    Args:
        model: A copy of its own.
        tasks: Whose rows.
        stream: What it trains on.
        options: Of the stream.
    """

    model: MultiTaskModel
    tasks: list[Task]
    stream: type[Stream]
    options: dict[str, Any] = field(default_factory=dict)
    taken: int = 0

    def __post_init__(self) -> None:
        access = access_to(self.model, self.tasks, steps=10_000, batch_size=BATCH, lr=5e-5)
        self.engine = access.engine
        self.made = self.stream(self.tasks, uniform([task.name for task in self.tasks]), BATCH, **self.options)
        self.made.connect(access)

    def step(self) -> None:
        self.engine.update(self.made.next(self.taken))
        self.taken += 1


class Literal(Arm):
    """The algorithm as it is printed."""

    def step(self) -> None:
        self.made._ask = self._ask
        plan = self.made.next(self.taken)
        self._train({part.task: part.ids for part in plan.parts})
        self.taken += 1

    @torch.no_grad()
    def _ask(self, question: CandidateQuery) -> dict[str, Any]:
        with evaluating(self.model):
            inputs, owners, batches = self._all(question.candidates)
            outputs = self.model.several([task.name for task in self.tasks], inputs, owners)
        kinds = {task.name: task.kind for task in self.tasks}
        return {
            name: question.select.measure(kinds[name], outputs[name][owners == k], batches[name].labels)
            for k, name in enumerate(kinds)
            if name in batches
        }

    def _train(self, chosen: dict[str, Any]) -> None:
        inputs, owners, batches = self._all(chosen)
        outputs = self.model.several([task.name for task in self.tasks], inputs, owners)
        losses = [
            task.kind.losses(outputs[task.name][owners == k], batches[task.name].labels).mean()
            for k, task in enumerate(self.tasks)
            if task.name in batches
        ]
        torch.stack(losses).mean().backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.engine.learner.optimizer.step()
        self.engine.learner.optimizer.zero_grad(set_to_none=True)

    def _all(self, chosen: dict[str, Any]) -> tuple[dict[str, torch.Tensor], torch.Tensor, dict[str, Batch]]:
        batches = {
            task.name: task.splits["train"].batch(chosen[task.name]) for task in self.tasks if task.name in chosen
        }
        width = max(batch.inputs["tokens"].shape[1] for batch in batches.values())
        inputs = {
            name: torch.cat([F.pad(b.inputs[name], (0, width - b.inputs[name].shape[1])) for b in batches.values()])
            for name in next(iter(batches.values())).inputs
        }
        numbers = [k for k, task in enumerate(self.tasks) if task.name in batches]
        return inputs, torch.from_numpy(np.repeat(numbers, [len(batch) for batch in batches.values()])), batches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=data_folder(), help="folder with glue/; default $ROTA_DATA")
    parser.add_argument("--encoder", default="minilm", help="minilm, or a folder with it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trained", type=int, default=40, help="uniform updates before picks are compared")
    parser.add_argument("--only", nargs="*", choices=["pool", "parts", "picks"], help="only these tables")
    asked = parser.parse_args()
    wanted = asked.only or ["pool", "parts", "picks"]
    if asked.data is None or not (asked.data / "glue").is_dir():
        print("skipped: this needs a folder with glue/ (--data, or $ROTA_DATA)")
        return
    torch.set_num_threads(2)
    print(versions())
    tasks = load_tasks(TASKS, Reading(asked.data, asked.encoder))
    torch.manual_seed(0)
    model = MultiTaskModel(pretrained(asked.encoder, "mean", frozen="half"), tasks)
    if "pool" in wanted:
        pool(model, tasks, asked.rounds)
    if "parts" in wanted:
        parts(asked.encoder, tasks, asked.rounds)
    if "picks" in wanted:
        agreement(model, tasks, asked.trained)


def pool(model: MultiTaskModel, tasks: list[Task], rounds: int) -> None:
    """Steps that pick their rows."""

    def arm(kind: type[Arm] = Arm, stream: type[Stream] = PoolStream, kept: bool = False, **options: Any) -> Arm:
        own = copy.deepcopy(model)
        assert isinstance(own.encoder, Pretrained)
        orders = {task.name: Queue(task.name, task.size(), 1, 0).order() for task in tasks}
        rows = with_frozen_rows(tasks, own.encoder, ROOM, orders) if kept else tasks
        if kept:  # as after the first pass: the rows of the rounds to come are known
            for task in rows:
                task.splits["train"].batch(orders[task.name][: (rounds + 2) * BATCH])
        picks = {"select": MTUncertainty()} if stream is PoolStream else {}
        return kind(own, rows, stream, {**picks, **options})

    arms = {
        "uniform": arm(stream=TaskStream),
        "literal": arm(Literal),
        "exact": arm(),
        "kept": arm(kept=True),
        "exact, half precision": arm(half=True),
        "exact, every 2": arm(every=2),
        "exact, 16 candidates": arm(candidates=16),
        "exact, layer 4": arm(layer=4),
        "kept, every 2": arm(kept=True, every=2),
    }
    judge(measured(arms, rounds, steps=2), "uniform", "A step of MT-Uncertainty, T·b = 192 candidates")


def parts(encoder: str, tasks: list[Task], rounds: int) -> None:
    """Steps of CA-MTL, with all of its parts and with one at a time."""
    torch.manual_seed(0)
    plain = MultiTaskModel(pretrained(encoder, "mean", frozen="half"), tasks)
    arms = {"plain": Arm(plain, tasks, TaskStream)}
    for name, own in ABLATION.items():
        arms[name] = Arm(camtl(pretrained(encoder, "mean"), tasks, own), tasks, TaskStream)
    judge(measured(arms, rounds, steps=4), "plain", "A step of CA-MTL by its parts, half frozen")


def measured(arms: dict[str, Arm], rounds: int, steps: int) -> dict[str, list[float]]:
    """Seconds per step of each arm, in turns."""
    for own in arms.values():
        for _ in range(steps):
            own.step()
    times: dict[str, list[float]] = {name: [] for name in arms}
    for _ in range(rounds):
        for name, own in arms.items():
            began = time.perf_counter()
            for _ in range(steps):
                own.step()
            times[name].append((time.perf_counter() - began) / steps)
    return times


def judge(times: dict[str, list[float]], base: str, title: str) -> None:
    print(f"\n{title}\n{'':30}{'s':>8}{f'x {base}':>12}{'x literal' if 'literal' in times else '':>12}")
    for name, own in times.items():
        columns = [ratio(own, times[base])]
        columns += [ratio(own, times["literal"])] if "literal" in times else []
        print(f"{name:30}{statistics.median(own):8.3f}" + "".join(f"{column:12.2f}" for column in columns), flush=True)
    for name, (other, limit) in LIMITS.items():
        if name in times and other in times:
            found = ratio(times[name], times[other])
            print(f"{name} ≤ {limit} x {other}: {'holds' if found <= limit else 'BROKEN'} ({found:.2f})")


def ratio(own: list[float], base: list[float]) -> float:
    return statistics.median([one / other for one, other in zip(own, base, strict=True)])


def agreement(model: MultiTaskModel, tasks: list[Task], trained: int, pools: int = 4) -> None:
    """How much the picks of approximations differ, once the model has learned something."""
    own = Arm(copy.deepcopy(model), tasks, TaskStream)
    for _ in range(trained):
        own.step()
    exact = Arm(own.model, tasks, PoolStream, {"select": MTUncertainty(regression="loss")})
    ask = exact.made.ask
    select = exact.made.select
    cheap: dict[str, Callable[[CandidateQuery], CandidateQuery]] = {
        "half precision": lambda q: CandidateQuery(q.step, q.candidates, q.most, q.select, half=True),
        **{
            f"layer {k}": lambda q, k=k: CandidateQuery(q.step, q.candidates, q.most, q.select, layer=k)
            for k in (3, 4, 5)
        },
    }
    same: dict[str, list[float]] = {name: [] for name in cheap}
    ranks: dict[str, list[float]] = {name: [] for name in cheap}
    for number in range(pools):
        candidates = {t.name: exact.made._candidates(t.name, BATCH) for t in tasks}
        question = CandidateQuery(number, candidates, dict.fromkeys(candidates, BATCH), select)
        found = ask(question)
        picked = set(select.pick(found, BATCH, np.random.default_rng(0)))
        for name, change in cheap.items():
            other = ask(change(question))
            same[name].append(len(picked & set(select.pick(other, BATCH, np.random.default_rng(0)))) / BATCH)
            scores = [
                np.concatenate(list(select.scores(row_stats, np.random.default_rng(0)).values()))
                for row_stats in (found, other)
            ]
            ranks[name].append(float(spearmanr(*scores).statistic))
    print(
        f"\nPicks after {trained} uniform updates, {pools} pools: share that is equal, rank correlation of the scores"
    )
    for name in cheap:
        print(f"{name:30}{statistics.mean(same[name]):8.2f}{statistics.mean(ranks[name]):12.2f}")


if __name__ == "__main__":
    main()
