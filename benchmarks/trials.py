"""What do αVIL's rounds cost?  Memory beyond ordinary training, and a step of α next to one forward and backward pass.

Five tasks (CB, COPA, MRPC, RTE, WNLI), target RTE, minilm. Memory is the peak of a process (of the GPU, where there is
one) in a run of short rounds, less that of ordinary training on the same tasks, in copies of the trained parameters;
SGD, so that the optimizer adds one copy to both.

python benchmarks/trials.py --data DIR [--rounds 5] [--dev-rows 128] [--only memory tuning]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from datapath import data_folder, versions

from rota.plans import make_plan, tasks_of
from rota.runs import run_plan
from rota.runs._build import make_model
from rota.testing import access_to
from rota.trials import AlphaSettings, Deltas, tune
from rota.trials._target_rows import TargetRows

TASKS, TARGET = ["cb", "copa", "mrpc", "rte", "wnli"], "rte"
RUNS = {
    "ordinary training": {"method": "multitask"},
    "alphavil": {"method": "alphavil"},
    "alphavil, bfloat16 deltas": {"method": "alphavil", "options": {"storage": "bfloat16"}},
}
ALLOWED = {"alphavil": len(TASKS) + 2, "alphavil, bfloat16 deltas": len(TASKS) / 2 + 2}
MOST_PER_STEP = 1.15
EXACT = {"MALLOC_MMAP_THRESHOLD_": "1048576", "MALLOC_TRIM_THRESHOLD_": "0"}
"""Tells glibc to give memory back at once, so that the peak of a process is that of its tensors."""


def fields(data: Path) -> dict[str, object]:
    return {
        **{"tasks": TASKS, "target": TARGET, "data": str(data), "model": "minilm", "optimizer": "sgd", "lr": 1e-3},
        **{"batch_size": 8, "longest": 64, "eval_rows": 32, "eval_every": 1000, "engine": "eager"},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=data_folder(), help="folder with glue/ and superglue/")
    parser.add_argument("--rounds", type=int, default=5, help="repetitions of each timing")
    parser.add_argument("--dev-rows", type=int, default=128, help="of the target, in a step of α")
    parser.add_argument("--only", nargs="+", choices=["memory", "tuning"], default=["memory", "tuning"])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    data = chosen.data
    if data is None:
        print("skipped: this needs a folder with glue/ and superglue/ (--data, or $ROTA_DATA)")
        return
    if chosen.child:
        print(json.dumps(peak(chosen.child, data)))
        return
    print(versions())
    if "memory" in chosen.only:
        show_memory(data)
    if "tuning" in chosen.only:
        show_tuning(data, chosen.rounds, chosen.dev_rows)


def show_memory(data: Path) -> None:
    found = {}
    for name in RUNS:
        child = [sys.executable, __file__, "--data", str(data), "--child", name]
        done = subprocess.run(child, capture_output=True, text=True, check=True, env={**os.environ, **EXACT})
        found[name] = json.loads(done.stdout.splitlines()[-1])
    plain, copy = found["ordinary training"]["peak"], found["ordinary training"]["copy"]
    print(f"\nPeak memory, {len(TASKS)} tasks; a copy of the trained parameters is {copy / 2**20:.0f} MiB")
    for name, own in found.items():
        beyond, allowed = (own["peak"] - plain) / copy, ALLOWED.get(name)
        limit = f"   limit {allowed:g}: {'kept' if beyond <= allowed else 'BROKEN'}" if allowed else ""
        print(f"  {name:28} {own['peak'] / 2**20:7.0f} MiB  {beyond:5.2f} copies more{limit}")


def peak(name: str, data: Path) -> dict[str, float]:
    """The most memory that a run takes, and the size of the trained parameters."""
    fraction = {"fraction": 0.01} if RUNS[name]["method"] == "alphavil" else {}
    options = {**RUNS[name].get("options", {}), **fraction}
    own = {**fields(data), **RUNS[name], "options": options, "steps": 11 if options else 3}
    with tempfile.TemporaryDirectory() as folder:
        run_plan(make_plan(own), Path(folder) / "run", progress=False)
        size = sum(
            p.numel() * p.element_size() for p in make_model(make_plan(own), tasks_of(make_plan(own))).parameters()
        )
    if torch.cuda.is_available():
        return {"peak": torch.cuda.max_memory_allocated(), "copy": size}
    return {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, "copy": size}


def show_tuning(data: Path, rounds: int, dev_rows: int) -> None:
    plan = make_plan(fields(data))
    tasks = tasks_of(plan)
    model = make_model(plan, tasks)
    access = access_to(model, tasks, optimizer="sgd", lr=1e-3, eval_rows=dev_rows)
    rows = TargetRows(access, next(task for task in access.evaluated if task.name == TARGET))
    deltas = made_deltas(model)
    rows.gradient()  # warm
    plain, tuned = [], []
    for _ in range(rounds):  # by turns, so that a slow minute slows both
        plain.append(seconds(rows.gradient))
        tuned.append(seconds(lambda: tune(deltas, rows.gradient, AlphaSettings(steps=1, lr=1e-3))))
    ratio = statistics.median(tuned) / statistics.median(plain)
    verdict = "kept" if ratio <= MOST_PER_STEP else "BROKEN"
    threads = torch.get_num_threads()
    print(f"\nA step of α on {dev_rows} dev rows, {len(TASKS)} tasks, {threads} threads, median of {rounds}")
    print(f"  forward and backward pass    {1000 * statistics.median(plain):8.1f} ms")
    print(f"  step of α                    {1000 * statistics.median(tuned):8.1f} ms")
    print(f"  ratio {ratio:.3f}   limit {MOST_PER_STEP}: {verdict}")


def made_deltas(model: torch.nn.Module) -> Deltas:
    deltas = Deltas(model, TASKS)
    deltas.open()
    for task in TASKS:
        deltas.go_back()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(1e-4 * torch.randn_like(parameter))
        deltas.collect(task)
    return deltas


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
