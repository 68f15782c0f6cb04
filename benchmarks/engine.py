"""How fast is a training step on a GPU?  The engines of `fit` next to a bare loop and `transformers.Trainer`.

Three models: minilm and one of the size of BERT base on six GLUE tasks, LeNet on generated pictures. All rows of a
table train the same model from the same weights on the same rows in bf16. The share is that of the arithmetic limit:
how long the matrix products of a step would take at the speed of a large one, over how long the step takes.

python benchmarks/engine.py --data DIR [--encoder minilm] [--json FILE]
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import training
from datapath import TASKS, data_folder, versions
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode
from training import Case, Clock, Order

from rota.data import PictureRows, Reading, load_tasks
from rota.models import LeNet, MultiTaskModel, Pretrained, pretrained
from rota.tasks import Classification, Task

ENGINES: dict[str, tuple[str, dict[str, Any]]] = {
    "Trainer": ("Trainer", {}),
    "bare loop": ("bare", {}),
    "eager": ("fit", {"engine": "eager", "delay": 4}),
    "graph": ("fit", {"engine": "graph", "delay": 4}),
    "graph, delay 0": ("fit", {"engine": "graph", "delay": 0}),
    "compile": ("fit", {"engine": "compile", "delay": 4}),
    "stack": ("fit", {"engine": "stack", "delay": 4}),  # of one run, where its kernels are the point
}
CAPTURED = 4  # a captured engine does so many times more updates in a section: it is about that much faster
BEFORE = 150  # eager updates before the clock starts: cuDNN plans its attention for each new length
LIMITS = {"updates/s": 250.0, "over Trainer": 7.5, "seconds of captures": 20.0, "memory over eager": 1.3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=data_folder(), help="folder with glue/; default $ROTA_DATA")
    parser.add_argument("--encoder", default="minilm", help="the small encoder: minilm, or a folder with it")
    parser.add_argument("--updates", type=int, default=100, help="timed updates in a section of an eager engine")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--models", nargs="*", help="only these: minilm, BERT base, LeNet")
    parser.add_argument("--engines", nargs="*", default=list(ENGINES), help="only these; Trainer and eager are needed")
    parser.add_argument("--json", type=Path, help="write all figures here")
    asked = parser.parse_args()
    if asked.data is None or not (asked.data / "glue").is_dir() or not torch.cuda.is_available():
        print("skipped: this needs a GPU and a folder with glue/ (--data, or $ROTA_DATA)")
        return
    peak = matrix_speed()
    print(f"{versions()}; {torch.cuda.get_device_name()}; a matrix product of 8192³ in bf16: {peak / 1e12:.0f} TFLOP/s")
    found: dict[str, Any] = {"peak": peak, "versions": versions()}
    for name, case in cases(asked.data, asked.encoder, asked.updates).items():
        if asked.models and name not in asked.models:
            continue
        engines = [engine for engine in ENGINES if engine in asked.engines]
        engines = [engine for engine in engines if engine != "stack" or name != "LeNet"]
        rounds = [one_round(case, engines, number) for number in range(asked.rounds)]
        work = arithmetic(case, training.order_of(case, seed=0)[:50])
        found[name] = report(name, case, rounds, work / peak)
        if name == "minilm":
            found["calls"] = calls_per_update(case)
        if asked.json:
            asked.json.write_text(json.dumps(found, indent=1))
    sys.exit(1 if "minilm" in found and not judge(found["minilm"]) else 0)


def cases(data: Path, encoder: str, updates: int) -> dict[str, Case]:
    from transformers import BertConfig, BertModel

    texts = load_tasks(TASKS, Reading(data, encoder))
    torch.manual_seed(0)
    small = MultiTaskModel(pretrained(encoder, "mean"), texts)
    base = MultiTaskModel(Pretrained(BertModel(BertConfig(), add_pooling_layer=False), "mean"), texts)
    pictures = [picture_task(name, seed) for seed, name in enumerate(("left", "right"))]
    lenet = MultiTaskModel(LeNet(), pictures)
    common = {"updates": updates, "precision": "bf16", "device": "cuda", "before": BEFORE}
    return {
        "minilm": Case(texts, small, **common),
        "LeNet": Case(pictures, lenet, batch=256, **common),
        "BERT base": Case(texts, base, **common),
    }


def picture_task(name: str, seed: int) -> Task:
    """Pictures as large and as many as MultiMNIST's; what they show does not matter here."""
    generator = torch.Generator().manual_seed(seed)
    rows = {
        split: PictureRows(
            torch.randint(256, (count, 28, 28), generator=generator, dtype=torch.uint8),
            torch.randint(10, (count,), generator=generator),
        )
        for split, count in (("train", 50_000), ("dev", 100))
    }
    return Task(name, Classification(10), rows)


def one_round(case: Case, engines: Sequence[str], number: int) -> dict[str, dict[str, float]]:
    """What each engine does with the same rows."""
    found = {}
    for name in engines:
        section, changes = ENGINES[name]
        own = replace(case, **changes)
        if changes.get("engine") in ("graph", "compile", "stack"):
            own = replace(own, updates=CAPTURED * case.updates, before=CAPTURED * BEFORE)
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        held, clock, began = torch.cuda.memory_allocated(), Clock(own, seed=number), time.perf_counter()
        training.SECTIONS[section](own, number, training.order_of(own, seed=number), clock)
        found[name] = {
            "speed": own.updates / sum(clock.seconds),
            "memory": (torch.cuda.max_memory_allocated() - held) / 2**20,
            "captures": clock.noted.get("captures", 0),
            "capture seconds": clock.noted.get("seconds", 0.0),
            "seconds": time.perf_counter() - began,
        }
        if clock.noted.get("fallback"):
            print(f"{name}: {clock.noted['fallback']}")
    return found


def report(name: str, case: Case, rounds: Sequence[dict[str, dict[str, float]]], limit: float) -> dict[str, Any]:
    """Print the medians over rounds; `limit`: seconds that a step's arithmetic needs."""
    size = sum(parameter.numel() for parameter in case.model.parameters())
    print(f"\n{name}: {size / 1e6:.1f} M parameters, {case.batch} rows, {limit * 1e3:.3f} ms of arithmetic in a step")
    print(f"{'':16}{'updates/s':>24}{'x Trainer':>11}{'captures':>10}{'s':>7}{'MiB':>8}{'x eager':>9}{'share':>8}")
    found: dict[str, Any] = {}
    for engine in rounds[0]:
        speeds = sorted(own[engine]["speed"] for own in rounds)
        own = {key: median([one[engine][key] for one in rounds]) for key in rounds[0][engine]}
        own["over Trainer"] = median([one[engine]["speed"] / one["Trainer"]["speed"] for one in rounds])
        own["memory over eager"] = median([one[engine]["memory"] / one["eager"]["memory"] for one in rounds])
        own["first capture seconds"] = rounds[0][engine]["capture seconds"]
        own["share"] = limit * own["speed"]
        found[engine] = own
        spread = f"{own['speed']:.1f} ({speeds[0]:.1f} – {speeds[-1]:.1f})"
        print(
            f"{engine:16}{spread:>24}{own['over Trainer']:>11.2f}{own['captures']:>10.0f}"
            f"{own['first capture seconds']:>7.1f}{own['memory']:>8.0f}{own['memory over eager']:>9.2f}"
            f"{own['share']:>8.1%}",
            flush=True,
        )
    return found


def judge(found: dict[str, Any]) -> bool:
    """Whether captured steps of the small encoder keep the limits."""
    graph = found["graph"]
    held = {
        "updates/s": graph["speed"] >= LIMITS["updates/s"],
        "over Trainer": graph["over Trainer"] >= LIMITS["over Trainer"],
        "seconds of captures": graph["first capture seconds"] <= LIMITS["seconds of captures"],
        "memory over eager": graph["memory over eager"] <= LIMITS["memory over eager"],
    }
    print()
    for name, holds in held.items():
        print(f"graph, minilm: {name}, limit {LIMITS[name]:g}: {'holds' if holds else 'BROKEN'}")
    return all(held.values())


def calls_per_update(case: Case, updates: int = 50) -> dict[str, float]:
    """Print what an update asks of the CUDA driver. A loop that waited for the device would synchronise with it, or
    with the stream, once per update; waiting for an event waits for the loss of four updates ago, for nothing else."""
    own = replace(case, engine="graph", delay=4, before=2 * CAPTURED * BEFORE, updates=updates)
    clock = Profiled(own, seed=0)
    training.train_fit(own, 0, training.order_of(own, seed=0), clock)
    counts = Counter(event.name for event in clock.events if event.name.startswith("cuda"))
    found = {name: count / updates for name, count in counts.most_common()}
    shown = ", ".join(f"{name} {count:.2f}" for name, count in found.items() if count > 0.5 or "Synchronize" in name)
    print(f"\ngraph, minilm: calls per update over {updates} updates: {shown}", flush=True)
    return found


class Profiled(Clock):
    """A clock that watches the driver while it runs."""

    events: Sequence[Any] = ()

    def tick(self) -> None:
        super().tick()
        if len(self.begun) == self._case.before + 1:
            self._profile = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
            self._profile.__enter__()
        if len(self.begun) == self._case.before + self._case.updates:
            self._profile.__exit__(None, None, None)
            self.events = list(self._profile.events() or [])


def matrix_speed(side: int = 8192, times: int = 20) -> float:
    """Floating point operations per second in a large matrix product."""
    a, b = (torch.randn(side, side, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        a @ b
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(times):
        a @ b
    torch.cuda.synchronize()
    return 2 * side**3 * times / (time.perf_counter() - began)


def arithmetic(case: Case, order: Order) -> float:
    """Floating point operations of the matrix products in a step, forward and backward, mean over some steps."""
    model = training.parts_of(case)[0]
    with FlopCounterMode(display=False) as counter:
        for task, ids in order:
            batch = case.rows(task, ids).to(torch.device("cuda"))
            case.losses(task, model(task, batch.inputs), batch.labels).mean().backward()
    return counter.get_total_flops() / len(order)


def median(values: Sequence[float]) -> float:
    return float(torch.tensor(sorted(values), dtype=torch.float64).quantile(0.5))


if __name__ == "__main__":
    main()
