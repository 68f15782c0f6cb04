"""What helps on a CPU?  Threads, half precision, channels last, a fused AdamW and a compiler, next to the defaults.

Bare loops over the same rows from the same weights, one option changed at a time; sections alternate, and what counts
is the median over rounds of the ratio within a round. The figures behind the defaults of `fit` are in docs/engine.md.

python benchmarks/cpu.py --data DIR
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import training
from datapath import data_folder, versions, why_skipped
from engine import picture_task
from torch import nn
from training import Case, Order

from rota.models import LeNet, MultiTaskModel

CORES = os.cpu_count() or 1


@dataclass(frozen=True)
class Option:
    """How a loop is run."""

    threads: int = CORES
    fused: bool = True
    half: bool = False
    channels_last: bool = False
    compiled: bool = False


def options(model: str, half: bool) -> dict[str, Option]:
    """What is tried; the first one is the default of `fit` for such a model (but for the channels)."""
    default = Option(threads=1 if model == "LeNet" else CORES)
    found = {
        "default": default,
        f"{CORES if default.threads == 1 else 1} threads": replace(default, threads=CORES + 1 - default.threads),
        "plain AdamW": replace(default, fused=False),
        "compile": replace(default, compiled=True),
    }
    if half:
        found["bf16"] = replace(default, half=True)
    if model == "LeNet":
        found["channels last"] = replace(default, channels_last=True)
    return found


def seconds(case: Case, option: Option, order: Order) -> float:
    """Of the timed updates of one section."""
    torch.set_num_threads(option.threads)
    model, optimizer, schedule = training.parts_of(replace(case, fused=option.fused))
    if option.channels_last:
        model.to(memory_format=torch.channels_last)
    if option.compiled:
        encoder = model.get_submodule("encoder")
        encoder.compile(dynamic=True)
    torch.manual_seed(0)
    began = 0.0
    for number, (task, ids) in enumerate(order[:-1]):
        if number == case.before:
            began = time.perf_counter()
        batch = case.rows(task, ids)
        inputs = dict(batch.inputs)
        if option.channels_last:
            inputs = {name: tensor.to(memory_format=torch.channels_last) for name, tensor in inputs.items()}
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=option.half):
            outputs = model(task, inputs)
        case.losses(task, outputs, batch.labels).mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), training.CLIP)
        optimizer.step()
        schedule.step()
    return time.perf_counter() - began


def compare(name: str, case: Case, rounds: int, half: bool) -> None:
    """Print each option's speed, and the median of its ratio to the default with the spread."""
    tried, found = options(name, half), []
    for number in range(rounds):
        order, names = training.order_of(case, seed=number), [*tried]
        start = number % len(names)
        taken = {}
        for option in names[start:] + names[:start]:
            taken[option] = seconds(case, tried[option], order)
            gc.collect()
        found.append(taken)
    print(f"\n{name}, {case.batch} rows, {rounds} rounds of {case.updates} updates")
    for option in tried:
        ratios = sorted(own["default"] / own[option] for own in found)
        speed = statistics.median(case.updates / own[option] for own in found)
        print(
            f"{option:16}{speed:9.2f} updates/s{statistics.median(ratios):9.3f} of the default "
            f"({ratios[0]:.3f} – {ratios[-1]:.3f})",
            flush=True,
        )


def cases(data: Path, updates: int) -> Sequence[tuple[str, Case]]:
    pictures = [picture_task(name, seed) for seed, name in enumerate(("left", "right"))]
    torch.manual_seed(0)
    lenet = Case(pictures, MultiTaskModel(LeNet(), pictures), 20 * updates, batch=256, before=5)
    small = training.make_case(data, "minilm", updates)
    return [("LeNet", lenet), ("minilm", replace(small, before=4))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=data_folder(), help="folder with glue/; default $ROTA_DATA")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=6, help="timed updates in a section of minilm")
    parser.add_argument("--bf16", action="store_true", help="try it; without units for it a CPU is very slow at that")
    asked = parser.parse_args()
    if reason := why_skipped(asked.data):
        print(f"skipped: {reason}")
        return
    print(f"{versions()}; {CORES} cores, {torch.backends.cpu.get_cpu_capability()}")
    for name, case in cases(asked.data, asked.updates):
        compare(name, case, asked.rounds, asked.bf16)


if __name__ == "__main__":
    main()
